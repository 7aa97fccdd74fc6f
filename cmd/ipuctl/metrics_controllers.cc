// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/metrics_controllers.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/text.h"
#include "hook/lifecycle/recording.h"

namespace ipuctl {

using base::str;
using hook::lifecycle::NotedAnswer;
using metrics::Type;

ControllerAnswers::ControllerAnswers(const hook::config::Config& config) {
  for (const hook::config::PoolConfig& each : config.pools) {
    if (each.provider != hook::config::Provider::kVipu) continue;
    Pool& pool = pools_[each.name];
    for (const std::string_view call : hook::lifecycle::kNotedCalls) pool.seconds[call];
    for (const std::string_view status : hook::lifecycle::kNotedStatuses) pool.errors[status];
  }
}

void ControllerAnswers::add(const hook::ledger::Event& event) {
  if (event.kind == hook::ledger::EventKind::kState) return end_lease(event);
  if (event.kind != hook::ledger::EventKind::kController) return;
  const auto pool = pools_.find(event.pool);
  const std::optional<NotedAnswer> answer = hook::lifecycle::parse_answer(event.text);
  if (pool == pools_.end() || !answer) return;
  if (!answer->ok) ++open_[event.lease][{event.pool, answer->status}];
  if (answer->ok && answer->seconds) pool->second.seconds[answer->call].push_back(*answer->seconds);
}

// The ledger keeps the first and the last refusal of a kind within an hour, and how many there
// were: "FAILED", and "FAILED, number 3 of its kind since TIME", which is that of the first.
void ControllerAnswers::end_lease(const hook::ledger::Event& event) {
  constexpr std::string_view kNumber = "FAILED, number ";
  constexpr std::string_view kSince = " of its kind since ";
  const std::string_view text = event.text;
  const auto open = open_.find(event.lease);
  if (open == open_.end() || !text.starts_with("FAILED")) return;
  const std::string at = base::rfc3339(event.at_ms);
  const size_t since = text.find(kSince);
  if (!text.starts_with(kNumber) || since == text.npos) {
    for (const auto& [what, number] : open->second) ones_[at][what] += number;
  } else {
    const std::string begin(text.substr(since + kSince.size()));
    const auto number =
        base::parse_int<int64_t>(text.substr(kNumber.size(), since - kNumber.size()), 2, INT64_MAX);
    Folded& all = folded_[{event.pool, str(begin, " ", open->second.begin()->first.second)}];
    all.last = std::max(all.last, number.ok() ? number.value() : 1);
    if (all.first == 0) all.first = all.last;
    constexpr size_t kDate = 10;
    all.has_all = begin.substr(0, kDate) == at.substr(0, kDate);
    all.has_number_one = all.has_number_one || ones_.contains(begin);
    all.each = std::move(open->second);
  }
  open_.erase(open);
}

void ControllerAnswers::print(metrics::Exposition& to) const {
  to.family("ipu_controller_seconds", Type::kHistogram,
            "Since midnight (UTC), as far as the history goes: how long a controller took for what "
            "starts and releases asked of it, until the partition was as asked.");
  for (const auto& [name, pool] : pools_) {
    for (const auto& [call, seconds] : pool.seconds)
      to.histogram({{"pool", name}, {"call", std::string(call)}}, seconds);
  }
  to.family(
      "ipu_controller_errors", Type::kGauge,
      "Since midnight (UTC), as far as the history goes: how often a controller refused or did "
      "not answer, by the status of gRPC. Of failures that began yesterday, the last counts.");
  Errors all;
  for (const auto& [name, pool] : pools_) {
    for (const auto& [status, number] : pool.errors) all[{name, status}] = number;
  }
  const auto add = [&](const Errors& errors, int64_t times) {
    for (const auto& [what, number] : errors) all[what] += number * times;
  };
  for (const auto& [lease, errors] : open_) add(errors, 1);
  for (const auto& [at, errors] : ones_) add(errors, 1);
  for (const auto& [key, each] : folded_) {
    const int64_t of_today = each.has_all ? each.last : each.last - each.first + 1;
    add(each.each, of_today - (each.has_all && each.has_number_one ? 1 : 0));
  }
  for (const auto& [what, number] : all)
    to.sample({{"pool", what.first}, {"status", std::string(what.second)}}, number);
}

}  // namespace ipuctl
