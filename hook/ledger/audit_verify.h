// SPDX-License-Identifier: Apache-2.0
// Whether the lines of an audit log are those that were written, all of them, in their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/ledger/audit_log.h"

namespace hook::ledger {

// The first line that does not fit.
struct AuditFault {
  std::string file;
  int64_t line = 0;    // of the file, from 1; 0: the fault is of no line
  std::string reason;  // what was expected, and what is there
};

struct AuditReport {
  int64_t lines = 0;
  std::string first_time;  // RFC 3339; empty: there is no line
  std::string last_time;
  AuditMark last;
  bool from_the_start = false;     // the first line is the first one ever
  std::vector<std::string> notes;  // what is no fault, and people should know
  std::optional<AuditFault> fault;
};

// Reads FILES, rotated ones first, as one log. A file may repeat the last lines of the one before:
// of these the ledger did not know yet when the log was rotated. REMEMBERED, if given, is the line
// that the ledger knows: it must be there. An error: a file cannot be read.
base::Result<AuditReport> verify_audit(const std::vector<std::string>& files,
                                       const std::optional<AuditMark>& remembered);

// FILE and what was rotated from it (FILE.1, FILE.2, ...), as far as it is there, oldest first.
[[nodiscard]] std::vector<std::string> audit_files(const std::string& file);

}  // namespace hook::ledger
