// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/refused.h"

#include <unistd.h>

#include <algorithm>

#include "base/names.h"
#include "hook/ledger/ledger.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

Status record(const std::string& ledger_file, const Attempt& attempt, const Error& error) {
  ledger::Ledger ledger = TRY(ledger::Ledger::open(ledger_file));
  const std::vector<ledger::Lease> leases = TRY(ledger.leases_of(attempt.container));
  const bool is_recorded =
      std::any_of(leases.begin(), leases.end(),
                  [&](const ledger::Lease& lease) { return lease.created_ms >= attempt.since_ms; });
  if (is_recorded) return {};
  const ledger::Intent intent{attempt.container, attempt.bundle, attempt.tenant, {}, {}, 0, {}};
  return ledger.record_refusal(intent, error);
}

}  // namespace

void record_refused(const std::string& ledger_file, const Attempt& attempt, const Error& error) {
  if (::access(ledger_file.c_str(), F_OK) != 0) return;
  (void)record(ledger_file, attempt, error);
}

}  // namespace hook::lifecycle::start
