// SPDX-License-Identifier: Apache-2.0
// What the host forwards, as seen by its connection tracking, beside rules of iptables in the way
// of an engine: both of its back ends.
#include "netns/flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cerrno>

#include "base/text.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::str;
using testing::ElementsAre;
using testing::IsEmpty;

class FlowsTest : public World, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    World::SetUp();
    add_docker_network(container_);
    iptables("-A FORWARD -s 172.30.1.0/24 -j ACCEPT");
    iptables("-t nat -A POSTROUTING -s 172.30.1.0/24 -j MASQUERADE");
    iptables(str("-t nat -A PREROUTING -d 172.30.1.1 -p tcp --dport 7000 -j DNAT --to-destination ",
                 to_string(other_), ":", stranger_.port));
  }
  void iptables(const std::string& arguments) {
    run_tool(host(), str("/usr/sbin/iptables-", GetParam()), arguments);
  }
  std::vector<std::string> flows(const std::vector<Prefix>& allowed = {}) {
    std::vector<std::string> found;
    for (const Flow& flow : must(flows_to_end(host(), {{}, {fabric_}, allowed}))) {
      found.push_back(to_string(flow));
    }
    return found;
  }
  const Prefix fabric_ = parse_prefix("10.5.0.0/16").take();
  const Namespace container_ = make_namespace();
};

TEST_P(FlowsTest, AreListedByWhereTheyReallyGo) {
  EXPECT_THAT(flows(), IsEmpty());
  EXPECT_EQ(connect_tcp({container_}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({container_}, ip("172.30.1.1"), 7000), 0);
  EXPECT_EQ(connect_tcp({host()}, own_, peer_.port), 0) << "not forwarded";
  const std::string direct = str("172.30.1.2 to 10.5.1.1 tcp ", peer_.port);
  const std::string translated = str("172.30.1.2 to 10.5.1.2 tcp ", stranger_.port);
  EXPECT_THAT(flows(), ElementsAre(direct, translated));
  EXPECT_THAT(flows({host_prefix(own_)}), ElementsAre(translated));
  EXPECT_THAT(flows({parse_prefix("172.30.1.0/24").take()}), IsEmpty());
}

TEST_P(FlowsTest, AreEndedByTheGuardAlsoWhereTheHostTranslatesAddresses) {
  EXPECT_EQ(must(ensure_guard(host(), {{}, {fabric_}, {}})), Ensured::kMade);
  EXPECT_EQ(connect_tcp({container_}, own_, peer_.port, kQuiet), ETIMEDOUT);
  EXPECT_EQ(connect_tcp({container_}, ip("172.30.1.1"), 7000, kQuiet), ETIMEDOUT);
  EXPECT_EQ(connect_tcp({host()}, own_, peer_.port), 0);
}

INSTANTIATE_TEST_SUITE_P(BackEnds, FlowsTest, testing::Values("legacy", "nft"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace netns
