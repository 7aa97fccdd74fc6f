// SPDX-License-Identifier: Apache-2.0
// Lets time pass for partitions: operations end, and errors are reset.
#include <algorithm>

#include "cmd/vipu-simulator/model/model.h"

namespace vipu::simulator {

void Model::advance_to(Time now) {
  const Time end = std::max(now, now_);
  // Each step takes a partition one state further. The number of auto-resets is limited, so the
  // loop ends.
  for (;;) {
    const auto next =
        std::min_element(records_.begin(), records_.end(),
                         [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
    if (next == records_.end() || next->second.due > end) break;
    Record& record = next->second;
    now_ = std::max(now_, record.due);
    if (record.operation == OperationState::kRemoving) {
      erase(next->first);
    } else if (record.is_reset_ahead) {
      begin(record, OperationState::kResetting, settings_.reset_delay, Outcome(record.outcome));
    } else if (record.ready == ReadyState::kPending) {
      finish(record);
    } else {
      auto_reset(next->first, record);
    }
  }
  now_ = end;
}

void Model::begin(Record& record, OperationState operation, Time delay, const Outcome& outcome) {
  record.ready = ReadyState::kPending;
  record.operation = operation;
  record.is_reset_ahead = false;
  record.errors.clear();
  record.cause = Cause::kNone;
  record.outcome = outcome;
  record.due = outcome.stuck ? kNever : now_ + delay;
  ++revision_;
}

void Model::finish(Record& record) {
  if (const std::optional<std::string> down = down_agent_of(record)) {
    fail(record, Cause::kAgent, {*down});
  } else if (!record.outcome.errors.empty()) {
    fail(record, Cause::kFault, record.outcome.errors);
  } else {
    record.ready = ReadyState::kActive;
    record.operation = OperationState::kIdle;
    record.active_from = now_;
    record.due = kNever;
  }
}

void Model::fail(Record& record, Cause cause, std::vector<std::string> errors) {
  if (record.operation == OperationState::kRemoving) return;
  record.ready = ReadyState::kError;
  record.operation = OperationState::kFailed;
  record.errors = std::move(errors);
  record.cause = cause;
  // An agent that is down stays down: only other IPUs help.
  const bool can_help = cause == Cause::kFault || record.wanted.relocatable;
  const bool wanted = !record.wanted.disable_auto_reset && can_help &&
                      record.auto_resets < settings_.max_auto_resets;
  record.due = wanted ? now_ + settings_.auto_reset_delay : kNever;
  ++revision_;
}

void Model::auto_reset(const std::string& id, Record& record) {
  ++record.auto_resets;
  record.last_auto_reset = now_;
  if (record.wanted.relocatable) relocate(id, record);
  const Outcome outcome = record.outcome.lasting ? record.outcome : Outcome{};
  begin(record, OperationState::kResetting, settings_.reset_delay, outcome);
}

std::optional<std::string> Model::down_agent_of(const Record& record) const {
  for (const uint32_t number : numbers_of(record.ipus)) {
    const auto down = down_.find(machine_of(number));
    if (down != down_.end()) return down->second;
  }
  return std::nullopt;
}

}  // namespace vipu::simulator
