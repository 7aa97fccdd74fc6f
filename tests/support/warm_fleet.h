// SPDX-License-Identifier: Apache-2.0
// Two hosts of a fleet that keep partitions warm for each other.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hook/fleet/grants.h"
#include "hook/lifecycle/partitions/hosts.h"
#include "hook/lifecycle/partitions/warm.h"
#include "tests/support/fleet_hosts.h"

namespace test {

class WarmFleet : public FleetHosts {
 protected:
  void SetUp() override {
    FleetHosts::SetUp();
    keep({{4, 2}});
  }
  void keep(const std::map<uint32_t, uint32_t>& warm) {
    a_.config.pools[0].warm = b_.config.pools[0].warm = warm;
  }
  static hook::lifecycle::partitions::Refilled fill(HookHost& host) {
    return hook::lifecycle::partitions::refill(host.env, host.config.pools[0], soon()).take();
  }
  std::vector<hook::fleet::Warm> warm() {
    std::vector<base::Error> obstacles;
    auto all = hook::fleet::list_warm(fleet(), "", obstacles).take();
    EXPECT_THAT(obstacles, testing::IsEmpty());
    return all;
  }
  std::vector<std::string> warm_names() {
    std::vector<std::string> names;
    for (const hook::fleet::Warm& one : warm()) names.push_back(one.name);
    return names;
  }
  std::vector<hook::fleet::Grant> grants() {
    std::vector<base::Error> obstacles;
    auto all = hook::fleet::list_grants(fleet(), obstacles).take();
    EXPECT_THAT(obstacles, testing::IsEmpty());
    return all;
  }
  static const std::string& tag(HookHost& host) { return host.ledger.host().tag(); }
  // Puts KEY, below the fleet's prefix, as another host or an older copy of the store has it.
  void put(const std::string& key, const std::string& value) {
    hook::fleet::Txn txn;
    txn.puts = {{kPrefix_ + key, value}};
    ASSERT_TRUE(succeeds(store_.commit(txn, soon())));
  }
  void ask_to_tell(HookHost& host) { put("restored/" + tag(host), "{}"); }
  // What the controller has, besides what containers have, is idle in the store, and no host's
  // ledger has half of it.
  void expect_whole() {
    EXPECT_THAT(a_.partitions(), testing::UnorderedElementsAreArray(warm_names()));
    for (const hook::fleet::Warm& one : warm()) EXPECT_EQ(one.phase, hook::fleet::WarmPhase::kIdle);
    EXPECT_THAT(grants(), testing::IsEmpty());
    for (HookHost* host : {&a_, &b_}) {
      EXPECT_EQ(host->live_leases(), 0U);
      EXPECT_THAT(host->ledger.partitions().all().take(), testing::IsEmpty());
    }
  }
  // Calls MEANWHILE before HOST's Nth call to the store, from 0, and answers all of them.
  void interrupt(HookHost& host, int n, std::function<void()> meanwhile) {
    auto calls = std::make_shared<int>(0);
    host.env.store = [this, calls, n, meanwhile](const hook::config::FleetConfig&) {
      return std::make_unique<LentStore>(store_, [calls, n, meanwhile] {
        if ((*calls)++ == n) meanwhile();
        return Call::kAnswered;
      });
    };
  }
  static void fence(HookHost& by, const std::string& host, std::vector<base::Error>& obstacles) {
    namespace partitions = hook::lifecycle::partitions;
    EXPECT_TRUE(succeeds(partitions::fence_host(by.env, by.config.pools, host,
                                                hook::fleet::IfAlive::kFence, soon(), obstacles)));
  }
};

}  // namespace test
