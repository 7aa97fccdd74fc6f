// SPDX-License-Identifier: Apache-2.0
// LedgerScript: all changes that a ledger knows, in a random order that is the same each time, each
// one a commit that its caller has seen.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "hook/ledger/ledger.h"
#include "tests/support/outcome.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {

class LedgerScript {
 public:
  LedgerScript(ledger::Ledger& ledger, int64_t& now) : ledger_(ledger), now_(now) {}

  // Makes COUNT changes: a first of each kind, then by chance. DONE is called after each commit.
  void run(int count, const std::function<void()>& done) {
    done_ = done;
    const std::vector<std::function<void()>> kinds = {
        [this] { name_partition(); }, [this] { warm_partition(); },
        [this] { begin(); },          [this] { queue(); },
        [this] { named_lease(); },    [this] { allocate(); },
        [this] { attach(); },         [this] { run_one(); },
        [this] { relocate(); },       [this] { duplicate(); },
        [this] { take_warm(); },      [this] { release_one(); },
        [this] { hold(); },           [this] { free_one(); },
        [this] { leave(); },          [this] { remove_partition(); },
        [this] { adopt(); },          [this] { forget(); }};
    for (int change = 0; change < count; ++change) {
      now_ += 700;
      const auto number = static_cast<size_t>(change);
      kinds[number < kinds.size() ? number : random_() % kinds.size()]();
    }
  }

 private:
  template <typename T>
  void must(const base::Result<T>& result) {
    EXPECT_TRUE(test::succeeds(result));
    done_();
  }
  ledger::Intent intent() {
    return {str_of("web"), "/run/bundle", "", pool_, {rail_}, 2, {4211, 99}};
  }
  std::string str_of(const char* prefix) { return prefix + std::to_string(++names_); }
  // A live lease in one of these states; null if there is none.
  ledger::Lease* find(std::initializer_list<ledger::LeaseState> states) {
    for (ledger::Lease& lease : leases_) {
      for (const ledger::LeaseState state : states) {
        if (lease.state == state) return &lease;
      }
    }
    return nullptr;
  }

  void begin() {
    base::Result<ledger::Lease> lease = ledger_.acquire(intent());
    must(lease);
    leases_.push_back(std::move(lease).take());
  }
  void take_warm() {
    begin();
    must(ledger_.take_warm(leases_.back()));
  }
  void named_lease() {
    if (named_.empty()) return name_partition();
    ledger::Intent what = intent();
    what.named = ledger::NamedPartition{named_.back(), {}};
    base::Result<ledger::Lease> lease = ledger_.acquire(what);
    if (!lease.ok()) return;  // another has it
    done_();
    leases_.push_back(std::move(lease).take());
  }
  void allocate() {
    ledger::Lease* const lease = find({ledger::LeaseState::kIntent});
    if (lease == nullptr) return begin();
    const uint32_t first = 2 * ++blocks_;
    must(ledger_.mark_allocated(*lease, {ipu("10.5.1.1", first), ipu("10.5.1.1", first + 1)},
                                {rail_.subnet}, {{rail_, "roce0"}}));
  }
  void attach() {
    ledger::Lease* const lease = find({ledger::LeaseState::kAllocated});
    if (lease == nullptr) return allocate();
    must(ledger_.begin_attach(*lease, {4213, 7}, {{4, ++names_, names_}, 3, 77}));
  }
  void run_one() {
    ledger::Lease* const lease = find({ledger::LeaseState::kAllocated});
    if (lease == nullptr || lease->netns_id < 0) return attach();
    must(ledger_.mark_running(*lease, {4214, 8}));
  }
  void relocate() {
    ledger::Lease* const lease = find({ledger::LeaseState::kRunning});
    if (lease == nullptr) return run_one();
    const uint32_t first = 2 * ++blocks_;
    must(ledger_.mark_relocated(*lease, {ipu("10.5.1.2", first), ipu("10.5.1.2", first + 1)}));
  }
  void duplicate() {
    ledger::Lease* const lease =
        find({ledger::LeaseState::kAllocated, ledger::LeaseState::kRunning});
    if (lease == nullptr) return allocate();
    must(ledger_.note_duplicate(*lease, "roce0", netns::parse_mac("52:54:00:00:00:99").take()));
  }
  void release_one() {
    ledger::Lease* const lease = find({ledger::LeaseState::kRunning, ledger::LeaseState::kIntent,
                                       ledger::LeaseState::kAllocated});
    if (lease == nullptr) return begin();
    must(ledger_.begin_release(*lease, {4215, 9}, ""));
  }
  void hold() {
    ledger::Lease* const lease = find({ledger::LeaseState::kReleasing});
    if (lease == nullptr) return release_one();
    must(ledger_.note_obstacle(*lease, "the controller is down"));
  }
  void free_one() {
    ledger::Lease* const lease = find({ledger::LeaseState::kReleasing});
    if (lease == nullptr) return release_one();
    must(ledger_.finish_release(*lease));
  }
  ledger::PartitionRecord record(const std::string& name, ledger::PartitionKind kind) {
    ledger::PartitionRecord record;
    record.pool = pool_.name;
    record.name = name;
    record.source = config::source_of(pool_);
    record.kind = kind;
    record.ipus = 2;
    record.owner = {4216, 10};
    record.created_ms = now_;
    return record;
  }
  void name_partition() {
    named_.push_back(str_of("p"));
    must(ledger_.partitions().intend(record(named_.back(), ledger::PartitionKind::kNamed)));
    must(ledger_.partitions().mark_ready(record(named_.back(), ledger::PartitionKind::kNamed)));
  }
  void warm_partition() {
    const ledger::PartitionRecord warm = record(str_of("w-"), ledger::PartitionKind::kWarm);
    must(ledger_.partitions().intend_warm(warm, 100));
    must(ledger_.partitions().mark_ready(warm));
  }
  void remove_partition() {
    if (named_.empty()) return name_partition();
    ledger::PartitionRecord gone =
        ledger_.partitions().find(pool_.name, named_.front()).take().value();
    must(ledger_.partitions().begin_removal(gone, {4217, 11}, vipu::Force::kYes));
    must(ledger_.partitions().finish_removal(gone));
    named_.erase(named_.begin());
  }
  void adopt() {
    const uint32_t ipu_number = 2 * ++blocks_;
    adopted_.push_back(record(str_of("theirs"), ledger::PartitionKind::kForeign));
    must(ledger_.partitions().adopt(adopted_.back(), {ipu("10.5.1.3", ipu_number)}));
  }
  void forget() {
    if (adopted_.empty()) return adopt();
    must(ledger_.partitions().forget(adopted_.back()));
    adopted_.pop_back();
  }
  void queue() {
    base::Result<int64_t> ticket =
        ledger_.queue().enter({0, "pod64", str_of("waits"), 4, {4218, 12}, "boot", now_, now_ + 9});
    must(ticket);
    tickets_.push_back(ticket.value());
  }
  void leave() {
    if (tickets_.empty()) return queue();
    must(ledger_.queue().leave(tickets_.back()));
    tickets_.pop_back();
  }

  ledger::Ledger& ledger_;
  int64_t& now_;
  std::function<void()> done_;
  std::mt19937 random_{20261120};
  const config::PoolConfig pool_{"pod64", config::Provider::kVipu, "10.1.3.101:8090"};
  const config::RailConfig rail_ = rail("ens1f0", "10.5.0.0/16", "10.5.200.10", "10.5.200.200");
  std::vector<ledger::Lease> leases_;
  std::vector<std::string> named_;
  std::vector<ledger::PartitionRecord> adopted_;
  std::vector<int64_t> tickets_;
  uint64_t names_ = 0;
  uint32_t blocks_ = 0;
};

}  // namespace hook::ledger
