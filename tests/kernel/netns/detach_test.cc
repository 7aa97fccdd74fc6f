// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "netns/attach.h"
#include "netns/session.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::Removed;
using base::str;
using testing::HasSubstr;

class DetachTest : public World {};

TEST_F(DetachTest, RemovesTheLinkAndSaysWhetherItWasThere) {
  const Namespace container = make_namespace();
  const int32_t id = must(ensure_id(host(), container));
  must(attach(plan(), host(), container));
  EXPECT_EQ(must(detach(host(), id, "roce0", plan().rails[0].mac)), Removed::kNow);
  EXPECT_EQ(run_ip(container, "-o link show type macvlan"), "");
  EXPECT_EQ(must(detach(host(), id, "roce0", plan().rails[0].mac)), Removed::kWasAbsent);
}

TEST_F(DetachTest, FreesTheMacForTheNextOneAtOnce) {
  for (int i = 0; i < 20; ++i) {
    const Namespace container = make_namespace();
    const int32_t id = must(ensure_id(host(), container));
    must(attach(plan(), host(), container));
    ASSERT_EQ(must(detach(host(), id, "roce0", plan().rails[0].mac)), Removed::kNow);
    ASSERT_EQ(connect_tcp({container}, own_, peer_.port), EACCES);
  }
}

TEST_F(DetachTest, WorksWithoutTheParent) {
  const Namespace container = make_namespace();
  const int32_t id = must(ensure_id(host(), container));
  must(attach(plan(), host(), container));
  run_ip(host(), "link delete host0");
  EXPECT_EQ(must(detach(host(), id, "roce0", plan().rails[0].mac)), Removed::kWasAbsent);
}

TEST_F(DetachTest, DoesNotTouchAnInterfaceWithAnotherMac) {
  const Namespace container = make_namespace();
  const int32_t id = must(ensure_id(host(), container));
  must(attach(plan(1), host(), container));
  EXPECT_EQ(must(detach(host(), id, "roce0", plan(2).rails[0].mac)), Removed::kWasAbsent);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
}

TEST_F(DetachTest, RemovesNothingElseFromTheNamespace) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  const int32_t id = must(ensure_id(host(), container));
  must(attach(plan(), host(), container));
  must(detach(host(), id, "roce0", plan().rails[0].mac));
  EXPECT_THAT(run_ip(container, "-o link show"), HasSubstr("eth0"));
}

TEST_F(DetachTest, IsDoneWhenTheNamespaceIsGone) {
  std::optional<Namespace> container = make_namespace();
  const int32_t id = must(ensure_id(host(), *container));
  must(attach(plan(), host(), *container));
  container.reset();
  // The namespace ends in the background: until then its link may still be there.
  must(detach(host(), id, "roce0", plan().rails[0].mac));
  EXPECT_EQ(must(detach(host(), id, "roce0", plan().rails[0].mac)), Removed::kWasAbsent);
}

TEST_F(DetachTest, IsDoneWhenTheIdWasNeverGivenOrIsAnothers) {
  EXPECT_EQ(must(detach(host(), 4711, "roce0", plan().rails[0].mac)), Removed::kWasAbsent);
  const Namespace stranger = make_namespace();
  const int32_t id = must(ensure_id(host(), stranger));
  EXPECT_EQ(must(detach(host(), id, "roce0", plan().rails[0].mac)), Removed::kWasAbsent);
}

TEST_F(DetachTest, RemovesWhatAnInterruptedAttachLeft) {
  const Namespace container = make_namespace();
  const int32_t id = must(ensure_id(host(), container));
  Session session = must(Session::open(host()));
  const auto parent = must(session.find_link("host0"));
  ASSERT_TRUE(parent.has_value());
  const Macvlan half_made{parent->index, "ipu02000a05c801", plan().rails[0].mac};
  ASSERT_TRUE(session.create_macvlan(half_made, container).ok());
  EXPECT_EQ(must(detach(host(), id, "roce0", plan().rails[0].mac)), Removed::kNow);
  EXPECT_EQ(run_ip(container, "-o link show type macvlan"), "");
}

TEST_F(DetachTest, RemovesByGroupOnlyWhatHasTheGroup) {
  const Namespace container = make_namespace();
  const int32_t id = must(ensure_id(host(), container));
  must(attach(plan(1), host(), container));
  Session session = must(Session::open(host()));
  EXPECT_EQ(must(session.remove_group_in(id, group_of(plan(2).rails[0].mac))), Removed::kWasAbsent);
  EXPECT_THAT(run_ip(container, "-o link show type macvlan"), HasSubstr("roce0"));
}

TEST_F(DetachTest, TellsBeforeWhetherThereIsSomethingToRemove) {
  const Namespace container = make_namespace();
  const int32_t id = must(ensure_id(host(), container));
  const MacAddress mac = plan(1).rails[0].mac;
  EXPECT_EQ(must(find_attached(host(), id, "roce0", mac)), Presence::kGone);
  must(attach(plan(1), host(), container));
  EXPECT_EQ(must(find_attached(host(), id, "roce0", mac)), Presence::kThere);
  EXPECT_EQ(must(find_attached(host(), id, "roce0", plan(2).rails[0].mac)), Presence::kGone);
  must(detach(host(), id, "roce0", mac));
  EXPECT_EQ(must(find_attached(host(), id, "roce0", mac)), Presence::kGone);
}

class NetnsIdTest : public World {};

TEST_F(NetnsIdTest, IsTheSameEveryTimeAndDiffersByNamespace) {
  const Namespace one = make_namespace();
  const Namespace two = make_namespace();
  const int32_t id = must(ensure_id(host(), one));
  EXPECT_EQ(must(ensure_id(host(), one)), id);
  EXPECT_NE(must(ensure_id(host(), two)), id);
}

}  // namespace
}  // namespace netns
