// SPDX-License-Identifier: Apache-2.0
// Checks whether a ledger's database is consistent in itself. Nothing outside it is examined.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hook::ledger {

enum class Gravity {
  kNote,   // no action is needed
  kError,  // the ledger contradicts itself or the outside world
};
[[nodiscard]] std::string_view name_of(Gravity gravity);  // "note", "error"

// One inconsistency.
struct Flaw {
  Gravity gravity = Gravity::kError;
  std::string says;    // "lease 0123...: RUNNING without a network namespace"
  std::string advice;  // what to do: "run 'ipuctl gc'"; may be empty
};

// Returns the flaws of the ledger at PATH, none if it is whole. Opens it only to read, and neither
// creates nor migrates it; other processes may change it meanwhile. Fails with kNotFound if there
// is no ledger. A ledger too damaged to be read is a flaw. A ledger that is locked or not permitted
// to be read, or a lack of memory, is an error.
base::Result<std::vector<Flaw>> check_ledger(const std::string& path);

// Returns the schema of the ledger at PATH, which is only read; kNotFound if there is no ledger.
base::Result<int64_t> schema_of(const std::string& path);

// Fails with kUnsupported if the schema of the ledger at PATH is newer than this program's.
base::Status check_known(const std::string& path);

}  // namespace hook::ledger
