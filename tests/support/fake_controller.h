// SPDX-License-Identifier: Apache-2.0
// FakeController: a V-IPU controller in memory that keeps the contract of vipu::Controller, and
// fails on demand. It never waits.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/fake_pool.h"
#include "vipu/controller.h"

namespace test {

class FakeController final : public vipu::Controller {
 public:
  enum class When { kBefore, kAfter, kAfterAndLeave };

  explicit FakeController(uint32_t ipus = 16) : pool_(ipus) {}

  // Makes the next call fail with ERROR: before its effects, or after them, or as the last call for
  // which the controller is reachable.
  void fail_next(base::Error error, When when = When::kBefore) {
    failure_ = {std::move(error), when};
  }
  [[nodiscard]] int removals() const { return removals_; }  // calls, also in vain
  // Makes every call fail with kUnavailable, until the controller is reachable again.
  void set_unreachable(bool unreachable) { unreachable_ = unreachable; }
  // Sets how long a partition takes to be made or reset. If its caller does not wait as long, it
  // stays PENDING; with no delay it is ACTIVE when submitted.
  void set_create_delay(std::chrono::milliseconds delay) { create_delay_ = delay; }
  // Puts the partition into state ERROR for this reason, until it is reset. Only force removes it.
  void tear(const std::string& id, const std::string& reason) {
    pool_.partitions.at(id).ready = vipu::ReadyState::kError;
    reasons_[id] = reason;
  }
  // Gives IPU-Machine MACHINE, from 0, this address.
  void set_address(uint32_t machine, const std::string& address) {
    pool_.addresses[machine] = address;
  }
  // Gives the controller itself these addresses.
  void set_own_addresses(const std::vector<std::string>& addresses) {
    pool_.controller_addresses = addresses;
  }
  FakePool& pool() { return pool_; }
  // Returns how often partitions of this name, including removed ones, were reset.
  [[nodiscard]] uint32_t resets(const std::string& id) const {
    const auto at = resets_.find(id);
    return at == resets_.end() ? 0 : at->second;
  }
  // Returns the request for the last partition.
  [[nodiscard]] const vipu::PartitionRequest& last_request() const { return last_request_; }

  base::Result<vipu::Grant> create(const vipu::PartitionRequest& request,
                                   const base::Deadline& deadline) override {
    return run<vipu::Grant>("create", deadline, [&]() -> base::Result<vipu::Grant> {
      TRY(add(request));
      return become_active(request.id, deadline);
    });
  }

  base::Status submit(const vipu::PartitionRequest& request,
                      const base::Deadline& deadline) override {
    return run<void>("submit", deadline, [&] { return add(request); });
  }

  base::Result<vipu::Grant> wait(const std::string& id, const base::Deadline& deadline) override {
    return run<vipu::Grant>("wait", deadline, [&] { return become_active(id, deadline); });
  }

  base::Result<std::vector<vipu::Partition>> list(const base::Deadline& deadline) override {
    return run<std::vector<vipu::Partition>>("list", deadline,
                                             [&] { return pool_.survey().partitions; });
  }

  base::Result<vipu::PartitionStatus> status(const std::string& id,
                                             const base::Deadline& deadline) override {
    return run<vipu::PartitionStatus>(
        "status", deadline, [&]() -> base::Result<vipu::PartitionStatus> {
          const vipu::ReadyState ready = TRY(pool_.get(id))->ready;
          const bool is_pending = ready == vipu::ReadyState::kPending;
          using State = vipu::OperationState;
          vipu::PartitionStatus status{ready, is_pending ? State::kCreating : State::kIdle};
          if (ready == vipu::ReadyState::kError) status.errors = {reasons_[id]};
          return status;
        });
  }

  base::Result<vipu::Grant> config(const std::string& id, std::optional<uint32_t> gcd,
                                   const base::Deadline& deadline) override {
    return run<vipu::Grant>("config", deadline, [&]() -> base::Result<vipu::Grant> {
      const vipu::Partition* const partition = TRY(pool_.get(id));
      if (partition->ready != vipu::ReadyState::kActive || gcd.value_or(0) >= partition->gcds) {
        return base::Error(base::Code::kNotFound, base::str("no such GCD of ", base::quote(id)));
      }
      return pool_.grant_of(*partition, gcd);
    });
  }

  base::Status reset(const std::string& id, vipu::Relocate,
                     const base::Deadline& deadline) override {
    return run<void>("reset", deadline, [&]() -> base::Status {
      TRY(pool_.get(id))->ready = vipu::ReadyState::kPending;
      ++resets_[id];
      TRY(become_active(id, deadline));
      return {};
    });
  }

  base::Result<base::Removed> remove(const std::string& id, vipu::Force force,
                                     const base::Deadline& deadline) override {
    ++removals_;
    return run<base::Removed>("remove", deadline, [&]() -> base::Result<base::Removed> {
      const auto at = pool_.partitions.find(id);
      if (at == pool_.partitions.end()) return base::Removed::kWasAbsent;
      if (at->second.ready == vipu::ReadyState::kError && force == vipu::Force::kNo) {
        return base::Error(base::Code::kBusy, base::str(base::quote(id), " is in state ERROR"));
      }
      pool_.partitions.erase(at);
      return base::Removed::kNow;
    });
  }

  base::Result<vipu::Survey> survey(const base::Deadline& deadline) override {
    return run<vipu::Survey>("survey", deadline, [&] { return pool_.survey(); });
  }

  base::Result<std::vector<vipu::IpuAttributes>> attributes(
      const std::vector<std::string>& agents, const base::Deadline& deadline) override {
    return run<std::vector<vipu::IpuAttributes>>("attributes", deadline,
                                                 [&] { return pool_.attributes_of(agents); });
  }

  base::Result<std::vector<std::string>> addresses(const base::Deadline& deadline) override {
    using Addresses = base::Result<std::vector<std::string>>;
    return run<std::vector<std::string>>("resolve", deadline,
                                         [&] { return Addresses(pool_.controller_addresses); });
  }

  base::Result<std::string> version(const base::Deadline& deadline) override {
    return run<std::string>("version", deadline, [] { return base::Result<std::string>("fake"); });
  }

 private:
  struct Failure {
    base::Error error;
    When when;
  };

  template <typename T, typename Call>
  base::Result<T> run(const char* name, const base::Deadline& deadline, const Call& call) {
    const std::string context = base::str("fake controller: ", name);
    const std::optional<Failure> failure = std::exchange(failure_, std::nullopt);
    if (unreachable_) return base::Error(base::Code::kUnavailable, context + ": down");
    if (deadline.passed()) return base::Error(base::Code::kTimeout, context + ": no time is left");
    if (failure.has_value() && failure->when == When::kBefore) return failure->error;
    base::Result<T> result = call();
    if (failure.has_value()) {
      unreachable_ = unreachable_ || failure->when == When::kAfterAndLeave;
      return failure->error;
    }
    if (result.ok()) return result;
    return std::move(result).error().wrap(context);
  }

  base::Status add(const vipu::PartitionRequest& request) {
    vipu::Partition* const made = TRY(pool_.add(request));
    last_request_ = request;
    const bool at_once = create_delay_.count() == 0;
    made->ready = at_once ? vipu::ReadyState::kActive : vipu::ReadyState::kPending;
    return {};
  }

  base::Result<vipu::Grant> become_active(const std::string& id, const base::Deadline& deadline) {
    vipu::Partition* const partition = TRY(pool_.get(id));
    if (partition->ready == vipu::ReadyState::kError) {
      return base::Error(base::Code::kInternal, base::str(base::quote(id), ": ", reasons_[id]));
    }
    if (partition->ready == vipu::ReadyState::kPending && create_delay_ >= deadline.left()) {
      return base::Error(base::Code::kTimeout, base::str(base::quote(id), " is still PENDING"));
    }
    partition->ready = vipu::ReadyState::kActive;
    return pool_.grant_of(*partition, std::nullopt);
  }

  FakePool pool_;
  std::map<std::string, std::string> reasons_;  // for state ERROR
  std::map<std::string, uint32_t> resets_;
  vipu::PartitionRequest last_request_;
  std::chrono::milliseconds create_delay_{0};
  std::optional<Failure> failure_;
  bool unreachable_ = false;
  int removals_ = 0;
};

}  // namespace test
