// SPDX-License-Identifier: Apache-2.0
// Small files of the host's run directory that say when something was, for the metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ipuctl {

struct Noted {
  int64_t at_ms = 0;  // unix time
  int64_t number = 0;
};

// Returns what FILE says, or nothing if it is absent, or not what note() writes.
[[nodiscard]] std::optional<Noted> read_noted(const std::string& file);

// Writes NOTED to FILE in place, always as many bytes, so that a killed program leaves no other
// file. Nobody depends on the file, so a failure is none.
void note(const std::string& file, const Noted& noted);

}  // namespace ipuctl
