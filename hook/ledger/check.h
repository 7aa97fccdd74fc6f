// SPDX-License-Identifier: Apache-2.0
// Whether a ledger is whole: the database by itself, without the world that it speaks of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hook::ledger {

enum class Gravity {
  kNote,   // nothing need be done
  kError,  // the ledger and the world, or the ledger and itself, do not agree
};
[[nodiscard]] std::string_view name_of(Gravity gravity);  // "note", "error"

// What is not as it should be.
struct Flaw {
  Gravity gravity = Gravity::kError;
  std::string says;    // "lease 0123...: RUNNING without a network namespace"
  std::string advice;  // what to do: "run 'ipuctl gc'"; may be empty
};

// The flaws of the ledger at PATH, none if it is whole. It is opened only to be read, and neither
// made nor migrated; others may change it meanwhile. kNotFound if there is none. That it cannot be
// read because it is damaged is a flaw; because it is busy, denied or memory is short, an error.
base::Result<std::vector<Flaw>> check_ledger(const std::string& path);

// kUnsupported if the schema of the ledger at PATH is newer than this program's.
base::Status check_known(const std::string& path);

}  // namespace hook::ledger
