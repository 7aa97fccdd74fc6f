// SPDX-License-Identifier: Apache-2.0
// Whether a file is one that the CDI specification allows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hook::cdi {

// The size limit of a CDI file.
inline constexpr size_t kMaxFileBytes = 4 << 20;

// What a file says, as far as it could be read.
struct Contents {
  // One line each: the path of a member, such as "devices[0].name", and what is wrong with it.
  // Empty: the file is valid, and all else below is complete.
  std::vector<std::string> faults;
  std::string kind;                   // "graphcore.ai/ipu"
  std::vector<std::string> devices;   // their names
  std::vector<std::string> nodes;     // device nodes that the host must have
  std::vector<std::string> programs;  // of hooks
};

// Checks TEXT as the specification says, up to version 1.1.0. An unknown member is wrong, as
// engines refuse the whole file for it.
[[nodiscard]] Contents validate(std::string_view text);

}  // namespace hook::cdi
