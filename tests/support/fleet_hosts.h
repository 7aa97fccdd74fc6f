// SPDX-License-Identifier: Apache-2.0
// FleetHosts: two hosts of a fleet, with one controller and one store in memory. One call to the
// store can fail, or lose its answer.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "hook/fleet/partitions.h"
#include "hook/fleet/queue.h"
#include "tests/support/hook_host.h"
#include "tests/support/lent_store.h"

namespace test {

class FleetHosts : public testing::Test {
 protected:
  void SetUp() override {
    for (HookHost* host : {&a_, &b_}) join(*host);
    b_.env.controller = a_.env.controller;
    const hook::ledger::HostWitnesses one{"1111111111111111"};
    const hook::ledger::HostWitnesses other{"2222222222222222"};
    ASSERT_TRUE(succeeds(a_.ledger.host().be_on(one)));
    ASSERT_TRUE(succeeds(b_.ledger.host().be_on(other)));
  }
  void join(HookHost& host) {
    host.config.fleet = hook::config::FleetConfig{{"10.1.0.5:2379"}};
    host.config.fleet->prefix = kPrefix_;
    host.env.fleet = [&host] { return host.config.fleet; };
    host.env.store = [this](const hook::config::FleetConfig&) {
      return std::make_unique<LentStore>(
          store_,
          [this] {
            const int call = calls_++;
            return call == fails_at_ ? fate_ : Call::kAnswered;
          },
          &loses_waits_);
    };
  }
  static base::Deadline soon() { return HookHost::soon(); }
  hook::fleet::Fleet fleet() { return {store_, kPrefix_, soon()}; }
  // A request of HOST that waits for the pool, with a process that is not there. The clock of its
  // host is BESIDE ours.
  hook::fleet::Ticket wait_on(HookHost& host, const std::string& container, uint32_t ipus,
                              const std::string& tenant = "",
                              std::chrono::milliseconds beside = std::chrono::milliseconds(0)) {
    hook::fleet::Ticket ticket;
    ticket.host = host.ledger.host().tag();
    ticket.id = hook::fleet::ticket_id(ticket.host, container);
    ticket.container = container;
    ticket.ipus = ipus;
    ticket.tenant = tenant;
    ticket.since_ms = base::unix_millis() + beside.count();
    ticket.until_ms = ticket.since_ms + 60'000;
    EXPECT_TRUE(succeeds(hook::fleet::take_ticket(fleet(), {"pod16"}, ticket)));
    return ticket;
  }
  static base::Status stop(HookHost& host, const std::string& container) {
    return hook::lifecycle::end::release_by_id(host.env, host.lease_of(container).id, soon());
  }
  static std::vector<base::Error> gc(HookHost& host) {
    return hook::lifecycle::end::reconcile(host.env, soon()).take().obstacles;
  }

  FakeStore store_;
  const std::string kPrefix_ = "/f/";
  int calls_ = 0;
  int fails_at_ = -1;  // the number of the call, from 0
  Call fate_ = Call::kAnswered;
  bool loses_waits_ = false;
  HookHost a_;
  HookHost b_;
};

}  // namespace test
