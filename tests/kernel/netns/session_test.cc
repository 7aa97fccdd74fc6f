// SPDX-License-Identifier: Apache-2.0
#include "netns/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::Removed;
using base::str;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class SessionTest : public World {
 protected:
  Session session_ = must(Session::open(must(Namespace::current())));
  uint32_t index_ = 0;  // of host0
  void SetUp() override {
    World::SetUp();
    if (IsSkipped()) return;
    session_ = must(Session::open(host()));
    index_ = must(session_.find_link("host0")).value().index;
  }
};

TEST_F(SessionTest, TellsWhatALinkIs) {
  const Link link = must(session_.find_link("host0")).value();
  EXPECT_EQ(link.name, "host0");
  EXPECT_EQ(link.mtu, 4200U);
  EXPECT_TRUE(link.is_up);
  EXPECT_TRUE(link.is_ethernet);
  EXPECT_FALSE(must(session_.find_link("lo")).value().is_ethernet);
  EXPECT_FALSE(must(session_.find_link("absent0")).has_value());
}

TEST_F(SessionTest, FindsALinkByItsAlternativeName) {
  run_ip(host(), "link property add dev host0 altname rnic");
  EXPECT_EQ(must(session_.find_link("rnic")).value().index, index_);
}

TEST_F(SessionTest, ListsAllLinks) {
  std::vector<std::string> names;
  for (const Link& link : must(session_.links())) names.push_back(link.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("lo", "host0"));
}

TEST_F(SessionTest, ListsMoreLinksThanOneAnswerHolds) {
  for (int i = 0; i < 100; ++i) run_ip(host(), str("link add br", i, " type bridge"));
  EXPECT_EQ(must(session_.links()).size(), 102U);
}

TEST_F(SessionTest, GivesTheKernelsOwnWords) {
  const auto status = session_.set_mtu(index_, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().sys_errno(), EINVAL);
  EXPECT_THAT(status.error().message(), HasSubstr("mtu less than device minimum"));
}

TEST_F(SessionTest, ListsTheRoutesOfBothFamilies) {
  run_ip(host(), "route add prohibit 192.0.2.0/24 metric 4791");
  run_ip(host(), "route add 198.51.100.1/32 dev host0 proto static");
  run_ip(host(), "-6 route add prohibit 2001:db8::/32 table 4791 metric 4791");
  run_ip(host(), "-6 route add fd00:9::1/128 dev host0 proto static");
  const std::vector<Route> routes = must(session_.routes());
  const auto prohibit = [](const char* to, uint32_t table) {
    return testing::AllOf(testing::ResultOf(is_prohibition, true),
                          testing::Field(&Route::table, table),
                          testing::Field(&Route::to, parse_prefix(to).take()));
  };
  const auto by_link = [this](const char* to) {
    return testing::AllOf(testing::Field(&Route::kind, RouteKind::kUnicast),
                          testing::Field(&Route::to, host_prefix(ip(to))),
                          testing::Field(&Route::link, index_),
                          testing::Field(&Route::is_static, true));
  };
  EXPECT_THAT(routes, Contains(prohibit("192.0.2.0/24", RT_TABLE_MAIN)));
  EXPECT_THAT(routes, Contains(prohibit("2001:db8::/32", kProhibitTable)));
  EXPECT_THAT(routes, Contains(by_link("198.51.100.1")));
  EXPECT_THAT(routes, Contains(by_link("fd00:9::1")));
  // The table "local" has a route to the host's own address.
  EXPECT_THAT(routes, Not(Contains(testing::Field(&Route::to, host_prefix(host_address_)))));
}

TEST_F(SessionTest, RemovesHostRoutesOfOneLinkAlone) {
  add_spare_link(host(), "spare0", "02:00:00:00:00:07");
  run_ip(host(), "route add 198.51.100.1/32 dev host0 proto static scope link");
  run_ip(host(), "route add 198.51.100.2/32 dev spare0 proto static scope link");
  const std::vector<Address> both = {ip("198.51.100.1"), ip("198.51.100.2")};
  EXPECT_TRUE(session_.remove_host_routes(index_, both).ok());
  EXPECT_EQ(run_ip(host(), "route show root 198.51.100.0/24"),
            "198.51.100.2 dev spare0 proto static scope link \n");
  EXPECT_TRUE(session_.remove_host_routes(index_, both).ok());
}

TEST_F(SessionTest, ProhibitsAsManyPrefixesAsThereAreAndTakesThemBack) {
  const std::string before = snapshot(host());
  std::vector<Prefix> prefixes;
  for (uint32_t i = 0; i < 300; ++i) prefixes.push_back(host_prefix(ipv4(0xc0000200 + i)));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(session_.ensure_prohibited(prefixes).ok());
  const std::vector<Route> routes = must(session_.routes());
  EXPECT_EQ(std::count_if(routes.begin(), routes.end(),
                          [](const Route& route) { return route.kind == RouteKind::kProhibit; }),
            300);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(session_.remove_all_prohibited().ok());
  EXPECT_EQ(snapshot(host()), before);
}

TEST_F(SessionTest, RemovesAProhibitRouteFromItsTableAlone) {
  const std::string before = snapshot(host());
  const Prefix prefix = must(parse_prefix("192.0.2.0/24"));
  run_ip(host(), "route add prohibit 192.0.2.0/24 proto static metric 4791");
  ASSERT_TRUE(session_.ensure_prohibited({prefix}).ok());
  Route in_main{RT_TABLE_MAIN, RouteKind::kProhibit, prefix};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(session_.remove_prohibited({in_main}).ok());
  EXPECT_EQ(run_ip(host(), "-4 route show type prohibit"), "");
  EXPECT_EQ(run_ip(host(), "-4 route show type prohibit table 4791"),
            "prohibit 192.0.2.0/24 proto static metric 4791 \n");
  EXPECT_TRUE(session_.remove_all_prohibited().ok());
  EXPECT_EQ(snapshot(host()), before);
}

TEST_F(SessionTest, AddsChangesListsAndRemovesNeighbours) {
  const MacAddress mac = must(parse_mac("02:00:00:00:00:77"));
  for (const char* text : {"10.5.7.7", "fd00:5::77"}) {
    const Address address = ip(text);
    EXPECT_EQ(must(session_.remove_neighbour(index_, address)), Removed::kWasAbsent);
    EXPECT_TRUE(session_.ensure_neighbour(index_, {address, mac, false}).ok());
    EXPECT_TRUE(session_.ensure_neighbour(index_, {address, mac, true}).ok());
    EXPECT_THAT(must(session_.neighbours(index_)), Contains(Neighbour{address, mac, true}));
    EXPECT_THAT(run_ip(host(), str("neighbour show to ", text)),
                HasSubstr("dev host0 lladdr 02:00:00:00:00:77 PERMANENT"));
    EXPECT_EQ(must(session_.remove_neighbour(index_, address)), Removed::kNow);
    EXPECT_THAT(run_ip(host(), str("neighbour show to ", text)), Not(HasSubstr("02:00:")));
  }
}

TEST_F(SessionTest, ListsTheNeighboursOfOneLinkAlone) {
  add_spare_link(host(), "spare0", "02:00:00:00:00:07");
  run_ip(host(), "neighbour add 198.51.100.2 lladdr 02:00:00:00:00:88 dev spare0");
  for (const Neighbour& neighbour : must(session_.neighbours(index_))) {
    EXPECT_NE(to_string(neighbour.address), "198.51.100.2");
  }
}

}  // namespace
}  // namespace netns
