// SPDX-License-Identifier: Apache-2.0
// LentStore: a FakeStore for callers that need to own one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_store.h"

namespace test {

// What becomes of a call. If its caller dies, it throws Died, and nothing of the caller goes on.
enum class Call { kAnswered, kFails, kAnswerIsLost, kDiesBefore, kDiesAfter };
struct Died {};

class LentStore final : public hook::fleet::Store {
 public:
  using Deadline = base::Deadline;
  // While LOSES_WAITS, which may be null, is true, a wait gets no answer in its time.
  LentStore(FakeStore& fake, std::function<Call()> fate, const bool* loses_waits = nullptr)
      : fake_(fake), fate_(std::move(fate)), loses_waits_(loses_waits) {}

  base::Result<hook::fleet::TxnResult> commit(const hook::fleet::Txn& txn,
                                              const Deadline& deadline) override {
    return ask([&] { return fake_.commit(txn, deadline); });
  }
  base::Result<hook::fleet::Listing> list(const std::string& prefix,
                                          const Deadline& deadline) override {
    return ask([&] { return fake_.list(prefix, deadline); });
  }
  base::Result<hook::fleet::Changes> wait(const std::string& prefix, int64_t revision,
                                          const Deadline& deadline) override {
    if (loses_waits_ != nullptr && *loses_waits_) {
      base::sleep_for(deadline.left(), deadline);
      return base::Error(base::Code::kTimeout, "fleet: no answer");
    }
    return ask([&] { return fake_.wait(prefix, revision, deadline); });
  }
  base::Result<hook::fleet::Lease> grant(uint32_t ttl_s, const Deadline& deadline) override {
    return ask([&] { return fake_.grant(ttl_s, deadline); });
  }
  base::Result<hook::fleet::Lease> keep(int64_t lease, const Deadline& deadline) override {
    return ask([&] { return fake_.keep(lease, deadline); });
  }
  base::Status revoke(int64_t lease, const Deadline& deadline) override {
    return ask([&] { return fake_.revoke(lease, deadline); });
  }
  base::Result<std::vector<hook::fleet::Member>> members(const Deadline& deadline) override {
    return ask([&] { return fake_.members(deadline); });
  }

 private:
  template <typename Ask>
  auto ask(const Ask& ask) -> decltype(ask()) {
    const Call fate = fate_ ? fate_() : Call::kAnswered;
    if (fate == Call::kFails) return base::Error(base::Code::kUnavailable, "fleet: no member");
    if (fate == Call::kDiesBefore) throw Died();
    auto answer = ask();
    if (fate == Call::kDiesAfter) throw Died();
    if (fate == Call::kAnswered) return answer;
    return base::Error(base::Code::kTimeout, "fleet: no answer");
  }
  FakeStore& fake_;
  std::function<Call()> fate_;
  const bool* loses_waits_;
};

}  // namespace test
