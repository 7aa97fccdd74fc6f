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

namespace hook::ledger {

inline netns::Address ip(const char* text) { return netns::parse_address(text).take(); }

inline LeasedIpu ipu(const char* address, uint32_t device) {
  return {ip(address), device, static_cast<uint16_t>(50052 + device),
          static_cast<uint16_t>(50152 + device)};
}

inline config::RailConfig rail(const std::string& parent, const char* subnet, const char* first,
                               const char* last) {
  return {parent, {}, netns::parse_prefix(subnet).take(), ip(first), ip(last)};
}

class LedgerFixture : public testing::Test {
 protected:
  Ledger open() {
    return Ledger::open(path_, [this] { return now_; }).take();
  }

  Intent intent(const std::string& container) const {
    return {container, "/run/bundle", "team-a", pool_, {rail_}, 4, {4211, 99}};
  }
  Lease acquire(const std::string& container = "container") {
    base::Result<Lease> lease = ledger_.acquire(intent(container));
    EXPECT_TRUE(test::succeeds(lease));
    return std::move(lease).take();
  }
  // ALLOCATED, with an address on RAILS and no IPU.
  base::Result<Lease> try_allocate(const std::string& container,
                                   const std::vector<RailRequest>& rails,
                                   const std::optional<netns::Identity>& in = std::nullopt) {
    Intent what = intent(container);
    if (in) what.rails.clear();  // it may need no address of its own
    Lease lease = TRY(ledger_.acquire(what));
    const base::Status allocated = ledger_.mark_allocated(lease, {}, {}, rails, in);
    if (allocated.ok()) return lease;
    release(lease);
    return allocated.error();
  }
  base::Result<Lease> try_allocate() { return try_allocate("container", {{rail_, "roce0"}}); }
  Lease allocate(const std::string& container = "container",
                 const std::optional<netns::Identity>& in = std::nullopt) {
    base::Result<Lease> lease = try_allocate(container, {{rail_, "roce0"}}, in);
    EXPECT_TRUE(test::succeeds(lease));
    return std::move(lease).take();
  }
  void release(Lease lease) {
    ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "")));
    ASSERT_TRUE(test::succeeds(ledger_.finish_release(lease)));
  }
  Lease stored(const Lease& lease) { return ledger_.find(lease.id).take().value(); }
  std::string address(const Lease& lease) { return netns::to_string(lease.rails.at(0).address); }

  test::TempDir dir_;
  const std::string path_ = dir_ / "state/ledger.db";
  int64_t now_ = 1'000'000'000'000;
  const config::PoolConfig pool_{"pod64", config::Provider::kVipu, "10.1.3.101:8090"};
  config::RailConfig rail_ = rail("ens1f0", "10.5.0.0/16", "10.5.200.10", "10.5.200.12");
  const base::ProcessId releaser_{4212, 100};
  Ledger ledger_ = open();
};

}  // namespace hook::ledger
