// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/recording.h"

#include "base/names.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

// How a success ended.
constexpr auto kActive = [](const auto&) { return "ACTIVE"; };
constexpr auto kMade = [](const auto&) { return "made"; };
constexpr auto kReset = [](const auto&) { return "reset"; };

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
    return record(str("remove ", id), call, [](const Result<base::Removed>& removed) {
      return removed.value() == base::Removed::kNow ? "gone" : "was absent";
    });
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

}  // namespace

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
