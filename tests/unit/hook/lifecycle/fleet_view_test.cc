// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/fleet_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hook::lifecycle {
namespace {

using testing::ElementsAre;

constexpr const char* kHere = "aaaaaaaa";

ledger::Waiter in_ledger(int64_t ticket, const std::string& container) {
  ledger::Waiter waiter;
  waiter.ticket = ticket;
  waiter.resource = "pod64";
  waiter.container = container;
  waiter.bundle = "/b";
  return waiter;
}

fleet::Waiting in_fleet(const std::string& id, const std::string& container, uint32_t ipus = 4,
                        const std::string& tenant = "") {
  fleet::Waiting one{{"pod64"}, {}};
  one.ticket.id = id;
  one.ticket.host = id.substr(0, 8);
  one.ticket.container = container;
  one.ticket.ipus = ipus;
  one.ticket.tenant = tenant;
  return one;
}

std::vector<std::string> shown(const std::vector<Queued>& order) {
  std::vector<std::string> names;
  for (const Queued& one : order)
    names.push_back((one.waiter.host.empty() ? "" : one.waiter.host + ":") + one.waiter.container);
  return names;
}

TEST(FleetView, ARequestOfThisHostIsThereOnceAsItsLedgerHasIt) {
  const std::vector<Queued> order = fleet_order(
      kHere, {in_ledger(7, "one")},
      {in_fleet("bbbbbbbb-7-11112222", "two"), in_fleet("aaaaaaaa-7-33334444", "one")}, {}, {});
  EXPECT_THAT(shown(order), ElementsAre("bbbbbbbb:two", "one"));
  EXPECT_EQ(order[0].ticket, "bbbbbbbb-7-11112222");
  EXPECT_EQ(order[0].waiter.resource, "pod64");
  EXPECT_EQ(order[1].ticket, "aaaaaaaa-7-33334444");
  EXPECT_EQ(order[1].waiter.bundle, "/b");
}

TEST(FleetView, WhatOnlyTheLedgerHasComesLastAndWhatOnlyTheFleetHasOfThisHostHasEnded) {
  const std::vector<Queued> order =
      fleet_order(kHere, {in_ledger(1, "card"), in_ledger(12, "one")},
                  {in_fleet("aaaaaaaa-1-33334444", "card"), in_fleet("aaaaaaaa-2-33334444", "dead"),
                   in_fleet("bbbbbbbb-5-33334444", "two")},
                  {}, {});
  EXPECT_THAT(shown(order), ElementsAre("card", "bbbbbbbb:two", "one"));
  EXPECT_EQ(order[2].ticket, "");
}

TEST(FleetView, ARequestThatWasCancelledIsOmitted) {
  fleet::Waiting cancelled = in_fleet("bbbbbbbb-1-33334444", "two");
  cancelled.ticket.is_cancelled = true;
  EXPECT_THAT(shown(fleet_order(kHere, {}, {cancelled}, {}, {})), ElementsAre());
}

const std::vector<config::TenantConfig> kTenants = {{"guest"}, {"vision", 8}};

TEST(FleetView, TheGuaranteedOfAllHostsAreServedBeforeThoseWhoBorrow) {
  const std::vector<fleet::Waiting> queue = {in_fleet("bbbbbbbb-1-33334444", "loan", 4, "guest"),
                                             in_fleet("cccccccc-1-33334444", "own", 8, "vision")};
  EXPECT_THAT(shown(fleet_order(kHere, {}, queue, kTenants, {})),
              ElementsAre("cccccccc:own", "bbbbbbbb:loan"));
  EXPECT_THAT(shown(fleet_order(kHere, {}, queue, kTenants, {{"vision", "pod64", "c", "", 4, 1}})),
              ElementsAre("bbbbbbbb:loan", "cccccccc:own"));
}

TEST(FleetView, AgedRequestsGoByWhatTheirHostsSay) {
  std::vector<fleet::Waiting> queue = {in_fleet("bbbbbbbb-1-33334444", "loan", 4, "guest"),
                                       in_fleet("cccccccc-1-33334444", "own", 8, "vision")};
  queue[0].ticket.is_aged = true;
  EXPECT_THAT(shown(fleet_order(kHere, {}, queue, kTenants, {})),
              ElementsAre("bbbbbbbb:loan", "cccccccc:own"));
}

TEST(FleetView, ANamedPartitionHasAQueueOfItsOwn) {
  fleet::Waiting named = in_fleet("bbbbbbbb-1-33334444", "two");
  named.resource.partition = "p0";
  EXPECT_EQ(to_waiter(named).resource, "pod64/p0");
  EXPECT_EQ(to_waiter(named).host, "bbbbbbbb");
}

}  // namespace
}  // namespace hook::lifecycle
