// SPDX-License-Identifier: Apache-2.0
// Notes in a lease's history what it asks of others and what they answer.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "hook/ledger/ledger.h"
#include "vipu/controller.h"

namespace hook::lifecycle {

// Returns "0.8 ms", "52 ms" or "12 s".
[[nodiscard]] std::string time_text(std::chrono::nanoseconds time);

// Which outcomes of a call are noted. Of a request that is repeated until it succeeds, the failures
// after the first say nothing new.
enum class Noted { kAll, kSuccess };

// Makes CALL and notes the outcome for LEASE: WHAT, the result, and the time it took. DONE(result)
// describes a success: "ACTIVE".
template <typename Call, typename Done>
auto recorded(ledger::Ledger& ledger, const std::string& lease, ledger::EventKind kind,
              const std::string& what, const Call& call, const Done& done,
              Noted noted = Noted::kAll) {
  const auto start = std::chrono::steady_clock::now();
  auto result = call();
  if (!result.ok() && noted == Noted::kSuccess) return result;
  const std::string time = time_text(std::chrono::steady_clock::now() - start);
  ledger.note(lease, kind,
              result.ok() ? base::str(what, ": ", done(result), " after ", time)
                          : base::str(what, ": ", result.error().message(), " (after ", time, ")"));
  return result;
}

// Returns CONTROLLER, wrapped to note for LEASE its answers to all calls that change or read a
// partition.
[[nodiscard]] std::unique_ptr<vipu::Controller> record_answers(
    ledger::Ledger& ledger, const std::string& lease, std::unique_ptr<vipu::Controller> controller,
    Noted noted = Noted::kAll);

inline constexpr std::string_view kNotedCalls[] = {"create", "wait", "configuration", "reset",
                                                   "remove"};
// A failure without an answer of the controller, or of which no status of gRPC tells.
inline constexpr std::string_view kNoStatus = "none";
inline constexpr std::string_view kNotedStatuses[] = {
    kNoStatus,   "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// What record_answers() noted of one call.
struct NotedAnswer {
  std::string_view call;                         // one of kNotedCalls
  bool ok = false;                               // otherwise it failed
  std::optional<double> seconds = std::nullopt;  // of a success; unset: the text was cut
  std::string_view status = kNoStatus;           // of a failure: one of kNotedStatuses
};

// Reads the text of an event of kController; unset if record_answers() writes no such text. What it
// returns outlives TEXT.
[[nodiscard]] std::optional<NotedAnswer> parse_answer(std::string_view text);

}  // namespace hook::lifecycle
