// SPDX-License-Identifier: Apache-2.0
// The store and the controller as one actor sees them: each call is answered from its log.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hook/fleet/store.h"
#include "tests/unit/hook/model/fences_actors.h"
#include "vipu/controller.h"

namespace model::fences {

class ReplayStore final : public hook::fleet::Store {
 public:
  using Deadline = base::Deadline;
  ReplayStore(Replay& replay, const Rules& rules) : replay_(replay), rules_(rules) {}

  base::Result<hook::fleet::TxnResult> commit(const hook::fleet::Txn& txn,
                                              const Deadline&) override {
    hook::fleet::Txn sent = txn;
    std::erase_if(sent.compares, [&](const hook::fleet::Compare& one) {
      return (!rules_.compares_records && one.key.ends_with("/record")) ||
             (!rules_.compares_fences && one.key.starts_with(kPrefix + "fences/")) ||
             (!rules_.compares_warm && one.key.starts_with(kPrefix + "warm/") &&
              !one.key.ends_with("/turn"));
    });
    const bool is_fence = std::any_of(sent.puts.begin(), sent.puts.end(), [](const auto& one) {
      return one.key.starts_with(kPrefix + "fences/");
    });
    is_fencing_ = is_fencing_ || is_fence;
    if (is_fencing_ && !rules_.forgets_warm)
      std::erase_if(sent.deletes,
                    [](const auto& key) { return key.starts_with(kPrefix + "warm/"); });
    // The same fence is the same, whenever it is made.
    for (hook::fleet::Put& one : sent.puts)
      if (one.key.starts_with(kPrefix + "fences/")) one.value = without_time(one.value);
    return give(replay_.ask({Call::What::kCommit, std::move(sent)}), &Answer::txn);
  }
  base::Result<hook::fleet::Listing> list(const std::string& prefix, const Deadline&) override {
    return give(replay_.ask({Call::What::kListKeys, {}, prefix}), &Answer::listing);
  }
  base::Result<hook::fleet::Changes> wait(const std::string&, int64_t, const Deadline&) override {
    return hook::fleet::Changes();
  }
  base::Result<hook::fleet::Lease> grant(uint32_t ttl_s, const Deadline&) override {
    return give(replay_.ask({Call::What::kGrantLease, {}, {}, ttl_s}), &Answer::lease);
  }
  base::Result<hook::fleet::Lease> keep(int64_t lease, const Deadline&) override {
    return give(replay_.ask({Call::What::kKeepLease, {}, {}, lease}), &Answer::lease);
  }
  base::Status revoke(int64_t lease, const Deadline&) override {
    const Answer& answer = replay_.ask({Call::What::kRevokeLease, {}, {}, lease});
    return answer.error ? base::Status(*answer.error) : base::Status();
  }
  base::Result<std::vector<hook::fleet::Member>> members(const Deadline&) override {
    return std::vector<hook::fleet::Member>();
  }

 private:
  template <typename T>
  static base::Result<T> give(const Answer& answer, T Answer::*part) {
    if (answer.error) return *answer.error;
    return answer.*part;
  }
  static std::string without_time(std::string text) {
    const size_t at = text.find("\"at_ms\":");
    if (at == std::string::npos) return text;
    const size_t begin = at + 8;
    return text.replace(begin, text.find_first_of(",}", begin) - begin, "0");
  }
  Replay& replay_;
  const Rules& rules_;
  bool is_fencing_ = false;
};

class ReplayController final : public vipu::Controller {
 public:
  using Deadline = base::Deadline;
  explicit ReplayController(Replay& replay) : replay_(replay) {}

  base::Result<std::vector<vipu::Partition>> list(const Deadline&) override {
    const Answer& answer = replay_.ask({Call::What::kListPartitions});
    if (answer.error) return *answer.error;
    return answer.partitions;
  }
  base::Result<base::Removed> remove(const std::string& id, vipu::Force, const Deadline&) override {
    const Answer& answer = replay_.ask({Call::What::kRemove, {}, id});
    if (answer.error) return *answer.error;
    return base::Removed::kNow;
  }

  // A fence makes no other calls.
  base::Result<vipu::Grant> create(const vipu::PartitionRequest&, const Deadline&) override {
    return none();
  }
  base::Status submit(const vipu::PartitionRequest&, const Deadline&) override { return none(); }
  base::Result<vipu::Grant> wait(const std::string&, const Deadline&) override { return none(); }
  base::Result<vipu::PartitionStatus> status(const std::string&, const Deadline&) override {
    return none();
  }
  base::Result<vipu::Grant> config(const std::string&, std::optional<uint32_t>,
                                   const Deadline&) override {
    return none();
  }
  base::Status reset(const std::string&, vipu::Relocate, const Deadline&) override {
    return none();
  }
  base::Result<vipu::Survey> survey(const Deadline&) override { return none(); }
  base::Result<std::vector<vipu::IpuAttributes>> attributes(const std::vector<std::string>&,
                                                            const Deadline&) override {
    return none();
  }
  base::Result<std::vector<std::string>> addresses(const Deadline&) override { return none(); }
  base::Result<std::string> version(const Deadline&) override { return none(); }

 private:
  static base::Error none() { return {base::Code::kInternal, "a fence does not call this"}; }
  Replay& replay_;
};

}  // namespace model::fences
