// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/recording.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/names.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

// How a success ended.
constexpr std::string_view kGone = "gone";
constexpr std::string_view kAbsent = "was absent";
constexpr auto kActive = [](const auto&) -> std::string_view { return "ACTIVE"; };
constexpr auto kMade = [](const auto&) -> std::string_view { return "made"; };
constexpr auto kReset = [](const auto&) -> std::string_view { return "reset"; };
constexpr auto kRemoved = [](const Result<base::Removed>& removed) {
  return removed.value() == base::Removed::kNow ? kGone : kAbsent;
};
constexpr std::string_view kDone[] = {kActive(0), kMade(0), kReset(0), kGone, kAbsent};
constexpr std::string_view kAfter = " after ";

class RecordingController final : public vipu::Controller {
 public:
  RecordingController(ledger::Ledger& ledger, std::string lease,
                      std::unique_ptr<vipu::Controller> controller, Noted noted)
      : ledger_(ledger),
        lease_(std::move(lease)),
        controller_(std::move(controller)),
        noted_(noted) {}

  Result<vipu::Grant> create(const vipu::PartitionRequest& request,
                             const Deadline& deadline) override {
    const auto call = [&] { return controller_->create(request, deadline); };
    return record(text_of("create", request), call, kActive);
  }
  Status submit(const vipu::PartitionRequest& request, const Deadline& deadline) override {
    const auto call = [&] { return controller_->submit(request, deadline); };
    return record(text_of("create", request), call, kMade);
  }
  Result<vipu::Grant> wait(const std::string& id, const Deadline& deadline) override {
    const auto call = [&] { return controller_->wait(id, deadline); };
    return record(str("wait for ", id), call, kActive);
  }
  Result<vipu::Grant> config(const std::string& id, std::optional<uint32_t> gcd,
                             const Deadline& deadline) override {
    const auto call = [&] { return controller_->config(id, gcd, deadline); };
    return record(str("configuration of ", id), call, kActive);
  }
  Status reset(const std::string& id, vipu::Relocate relocate, const Deadline& deadline) override {
    const auto call = [&] { return controller_->reset(id, relocate, deadline); };
    return record(str("reset ", id), call, kReset);
  }
  Result<base::Removed> remove(const std::string& id, vipu::Force force,
                               const Deadline& deadline) override {
    const auto call = [&] { return controller_->remove(id, force, deadline); };
    return record(str("remove ", id), call, kRemoved);
  }

  Result<std::vector<vipu::Partition>> list(const Deadline& deadline) override {
    return controller_->list(deadline);
  }
  Result<vipu::PartitionStatus> status(const std::string& id, const Deadline& deadline) override {
    return controller_->status(id, deadline);
  }
  Result<vipu::Survey> survey(const Deadline& deadline) override {
    return controller_->survey(deadline);
  }
  Result<std::vector<vipu::IpuAttributes>> attributes(const std::vector<std::string>& agents,
                                                      const Deadline& deadline) override {
    return controller_->attributes(agents, deadline);
  }
  Result<std::vector<std::string>> addresses(const Deadline& deadline) override {
    return controller_->addresses(deadline);
  }
  Result<std::string> version(const Deadline& deadline) override {
    return controller_->version(deadline);
  }

 private:
  static std::string text_of(std::string_view verb, const vipu::PartitionRequest& request) {
    return str(verb, " ", request.id, " of ", request.size, " IPUs");
  }
  template <typename Call, typename Done>
  auto record(const std::string& what, const Call& call, const Done& done) -> decltype(call()) {
    return recorded(ledger_, lease_, ledger::EventKind::kController, what, call, done, noted_);
  }

  ledger::Ledger& ledger_;
  std::string lease_;
  std::unique_ptr<vipu::Controller> controller_;
  Noted noted_;
};

// Returns the seconds of what time_text() wrote.
std::optional<double> seconds_of(std::string_view text) {
  const std::vector<std::string_view> words = base::split(text, ' ');
  const std::vector<std::string_view> parts = base::split(words.front(), '.');
  const auto whole = base::parse_int<uint32_t>(parts.front(), 0, UINT32_MAX);
  const auto tenths = base::parse_int<uint32_t>(parts.size() == 2 ? parts.back() : "0", 0, 9);
  if (words.size() != 2 || parts.size() > 2 || !whole.ok() || !tenths.ok()) return std::nullopt;
  const double value = whole.value() + tenths.value() / 10.0;
  if (words.back() == "ms") return value / 1000;
  return words.back() == "s" ? std::optional(value) : std::nullopt;
}

// Returns the last status in TEXT: "(UNAVAILABLE after 3 ms)", "(DEADLINE_EXCEEDED)". The words of
// a controller may have others before it.
std::string_view status_in(std::string_view text) {
  for (size_t at = text.rfind('('); at != text.npos;
       at = at == 0 ? text.npos : text.rfind('(', at - 1)) {
    const std::string_view rest = text.substr(at + 1);
    const std::string_view word = rest.substr(0, rest.find_first_of(" )"));
    for (const std::string_view status : kNotedStatuses) {
      if (word == status) return status;
    }
  }
  return kNoStatus;
}

}  // namespace

std::optional<NotedAnswer> parse_answer(std::string_view text) {
  const auto* const call =
      std::find_if(std::begin(kNotedCalls), std::end(kNotedCalls),
                   [&](std::string_view each) { return text.starts_with(str(each, ' ')); });
  const size_t colon = text.find(": ");
  if (call == std::end(kNotedCalls) || colon == text.npos) return std::nullopt;
  const std::string_view result = text.substr(colon + 2);
  const size_t after = result.rfind(kAfter);
  const auto is_it = [&](std::string_view done) { return result.substr(0, after) == done; };
  const bool ok = after != result.npos && std::any_of(std::begin(kDone), std::end(kDone), is_it);
  if (!ok) return NotedAnswer{*call, false, std::nullopt, status_in(result)};
  return NotedAnswer{*call, true, seconds_of(result.substr(after + kAfter.size()))};
}

std::string time_text(std::chrono::nanoseconds time) {
  const int64_t tenths = time.count() / 100'000;  // of a millisecond
  if (tenths < 100) return str(tenths / 10, ".", tenths % 10, " ms");
  if (tenths < 100'000) return str(tenths / 10, " ms");
  return str(tenths / 10'000, " s");
}

std::unique_ptr<vipu::Controller> record_answers(ledger::Ledger& ledger, const std::string& lease,
                                                 std::unique_ptr<vipu::Controller> controller,
                                                 Noted noted) {
  return std::make_unique<RecordingController>(ledger, lease, std::move(controller), noted);
}

}  // namespace hook::lifecycle
