// SPDX-License-Identifier: Apache-2.0
// Events, the history of a lease, and the state of the audit log, as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/trace.h"
#include "cmd/ipuctl/print.h"
#include "hook/ledger/audit_verify.h"
#include "hook/ledger/events.h"
#include "hook/ledger/lease.h"

namespace ipuctl {

// Returns one line with its newline: columns, or a JSON object.
[[nodiscard]] std::string event_line(const hook::ledger::Event& event, Output output);

// The present state of something that a lease may have outside the ledger.
struct Outside {
  std::string effect;       // "interfaces"
  std::string state;        // "there", "gone", "unknown"
  std::string reason = {};  // why the state is unknown
};

struct Explanation {
  hook::ledger::Lease lease;
  std::vector<hook::ledger::Event> events;
  std::vector<Outside> outside;
  std::string next;  // what happens, or has to be done, next; empty: nothing
  std::vector<hook::ledger::Lease> earlier;  // of the same container, newest first
};
[[nodiscard]] std::string explanation_text(const Explanation& explanation, Output output);

// Each step with the time since the first one, and since the one before.
[[nodiscard]] std::string trace_text(const std::vector<base::TraceStep>& steps, Output output);

[[nodiscard]] std::string audit_text(const hook::ledger::AuditReport& report, Output output);
// Returns the fault as one line.
[[nodiscard]] std::string fault_text(const hook::ledger::AuditFault& fault);

}  // namespace ipuctl
