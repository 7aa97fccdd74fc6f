// SPDX-License-Identifier: Apache-2.0
// Verifies that the lines of an audit log are complete, unchanged and in their original order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/ledger/audit_log.h"

namespace hook::ledger {

// The first fault that was found.
struct AuditFault {
  std::string file;
  int64_t line = 0;    // in the file, from 1; 0: the fault concerns no line
  std::string reason;  // what was expected and what was found
};

struct AuditReport {
  int64_t lines = 0;
  std::string first_time;  // RFC 3339; empty: the log has no line
  std::string last_time;
  AuditMark last;
  bool from_the_start = false;     // the first line is the first ever written
  std::vector<std::string> notes;  // remarks that are not faults
  std::optional<AuditFault> fault;
};

// Reads FILES, oldest first, as one log. A file may repeat the last lines of the previous file:
// those that the ledger did not know yet when the log was rotated. The log must contain REMEMBERED,
// the line that the ledger knows, if it is given. Fails if a file cannot be read; a fault is no
// failure.
base::Result<AuditReport> verify_audit(const std::vector<std::string>& files,
                                       const std::optional<AuditMark>& remembered);

// Returns those of FILE and its rotated predecessors (FILE.1, FILE.2, ...) that exist, oldest
// first.
[[nodiscard]] std::vector<std::string> audit_files(const std::string& file);

}  // namespace hook::ledger
