// SPDX-License-Identifier: Apache-2.0
// A ledger in a temporary directory, with a clock that the test sets.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "hook/ledger/ledger.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook {

inline netns::Ipv4 ip(const char* text) { return netns::parse_ipv4(text).take(); }

inline LeasedIpu ipu(const char* address, uint32_t device) {
  return {ip(address), device, static_cast<uint16_t>(50052 + device),
          static_cast<uint16_t>(50152 + device)};
}

class LedgerFixture : public testing::Test {
 protected:
  Ledger open() {
    return Ledger::open(path_, [this] { return now_; }).take();
  }

  Intent intent(const std::string& container) const {
    return {container, "/run/bundle", "team-a", pool_, {rail_}, 4, {4211, 99}};
  }
  base::Result<Lease> try_acquire() { return ledger_.acquire(intent("container")); }
  Lease acquire(const std::string& container = "container") {
    base::Result<Lease> lease = ledger_.acquire(intent(container));
    EXPECT_TRUE(test::succeeds(lease));
    return std::move(lease).take();
  }
  void release(Lease lease) {
    ASSERT_TRUE(test::succeeds(ledger_.releasing(lease, releaser_, "")));
    ASSERT_TRUE(test::succeeds(ledger_.released(lease)));
  }
  Lease stored(const Lease& lease) { return ledger_.find(lease.id).take().value(); }
  std::string address(const Lease& lease) { return netns::to_string(lease.rails.at(0).address); }

  test::TempDir dir_;
  const std::string path_ = dir_ / "state/ledger.db";
  int64_t now_ = 1'000'000'000'000;
  const PoolConfig pool_{"pod64", Provider::kVipu, "10.1.3.101:8090"};
  RailConfig rail_{"ens1f0", {ip("10.5.0.0"), 16}, ip("10.5.200.10"), ip("10.5.200.12")};
  const base::ProcessId releaser_{4212, 100};
  Ledger ledger_ = open();
};

}  // namespace hook
