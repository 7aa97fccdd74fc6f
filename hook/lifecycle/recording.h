// SPDX-License-Identifier: Apache-2.0
// What a lease asks of others, and what they answer, for its history.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "hook/ledger/ledger.h"
#include "vipu/controller.h"

namespace hook::lifecycle {

// "0.8 ms", "52 ms" or "12 s".
[[nodiscard]] std::string time_text(std::chrono::nanoseconds time);

// Makes CALL, and notes of LEASE what came of it: WHAT, how it ended, and after what time.
// DONE(result) says how a success ended: "ACTIVE".
template <typename Call, typename Done>
auto recorded(ledger::Ledger& ledger, const std::string& lease, ledger::EventKind kind,
              const std::string& what, const Call& call, const Done& done) {
  const auto start = std::chrono::steady_clock::now();
  auto result = call();
  const std::string time = time_text(std::chrono::steady_clock::now() - start);
  ledger.note(lease, kind,
              result.ok() ? base::str(what, ": ", done(result), " after ", time)
                          : base::str(what, ": ", result.error().message(), " (after ", time, ")"));
  return result;
}

// CONTROLLER, whose answers to what changes or reads a partition are noted of LEASE.
[[nodiscard]] std::unique_ptr<vipu::Controller> record_answers(
    ledger::Ledger& ledger, const std::string& lease, std::unique_ptr<vipu::Controller> controller);

}  // namespace hook::lifecycle
