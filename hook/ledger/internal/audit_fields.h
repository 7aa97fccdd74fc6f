// SPDX-License-Identifier: Apache-2.0
// What links a line of the audit log to the one before.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace hook::ledger {

struct AuditFields {
  int64_t number = 0;
  std::string time;
  std::string previous;
};

// Reads LINE, which is without its newline. Returns kInvalid, with the cause, if it is no JSON, has
// a key twice, or lacks one of these fields. Reads a line as audit_line() writes nearly all of them
// without building a document; what is accepted is the same.
base::Result<AuditFields> read_audit_fields(const std::string& line);

}  // namespace hook::ledger
