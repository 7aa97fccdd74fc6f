// SPDX-License-Identifier: Apache-2.0
// Containers in one network namespace: they share the interfaces that are there.
#include <gmock/gmock.h>

#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;
using testing::ElementsAre;
using testing::IsEmpty;

class SharingTest : public LedgerFixture {
 protected:
  void attach(Lease& lease, const netns::Identity& in) {
    ASSERT_TRUE(test::succeeds(ledger_.begin_attach(lease, {5000, 1, 1}, {in, 7, 99})));
  }
  Lease attached(const std::string& container) {
    Lease lease = allocate(container);
    attach(lease, in_);
    return lease;
  }
  void execute(const char* sql) { ASSERT_TRUE(test::succeeds(test::run_sql(path_, sql))); }
  std::vector<std::string> sharers(const Lease& lease) {
    std::vector<std::string> containers;
    for (const Lease& other : ledger_.sharers(lease).take()) containers.push_back(other.container);
    return containers;
  }
  std::vector<std::string> rails(const Lease& lease) {
    std::vector<std::string> names;
    for (const RailLease& rail : lease.rails) names.push_back(rail.parent + " " + rail.interface);
    return names;
  }

  const netns::Identity in_{4, 4026532000, 0x8000000000000001};
  const config::RailConfig second_ = rail("ens1f1", "10.6.0.0/16", "10.6.200.10", "10.6.200.10");
};

TEST_F(SharingTest, GivesTheInterfacesThatAreThere) {
  const Lease first = attached("a");
  const Lease second = allocate("b", in_);
  EXPECT_EQ(second.attachment, first.id);
  EXPECT_EQ(second.rails, first.rails);
  EXPECT_EQ(stored(second).rails, first.rails);
  EXPECT_EQ(ledger_.held_addresses("ens1f0").take(), 1U);
  EXPECT_THAT(sharers(first), ElementsAre("b"));
  EXPECT_THAT(sharers(second), ElementsAre("a"));
}

// Its own hook may never run, and then it may be the one that has to remove them.
TEST_F(SharingTest, KnowsTheNamespaceFromTheOther) {
  const Lease first = attached("a");
  const Lease second = allocate("b", in_);
  EXPECT_EQ(second.netns, in_);
  EXPECT_EQ(second.netns_id, 7);
  EXPECT_EQ(second.host_netns_cookie, 99U);
  EXPECT_EQ(stored(second).netns, in_);
}

TEST_F(SharingTest, IsOnlyForAnAttachedLeaseThatStays) {
  rail_.last = ip("10.5.200.20");
  const Lease unattached = allocate("unattached");
  EXPECT_NE(allocate("b", netns::Identity()).attachment, unattached.id);
  Lease first = attached("a");
  netns::Identity other = in_;
  ++other.cookie;
  const Lease elsewhere = allocate("elsewhere", other);
  EXPECT_EQ(elsewhere.attachment, elsewhere.id);
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(first, releaser_, "")));
  const Lease late = allocate("late", in_);
  EXPECT_EQ(late.attachment, late.id);
  EXPECT_THAT(sharers(late), IsEmpty());
}

TEST_F(SharingTest, IsNotForALeaseOfAnEarlierBoot) {
  const Lease first = attached("a");
  execute("UPDATE lease SET boot_id = 'an earlier one'");
  const Lease second = allocate("b", in_);
  EXPECT_EQ(second.attachment, second.id);
}

TEST_F(SharingTest, IsNotForAContainerThatNeedsNoInterface) {
  const Lease first = attached("a");
  Lease cards = acquire("cards");
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(cards, {}, {}, {}, in_)));
  EXPECT_EQ(cards.attachment, "");
  EXPECT_THAT(cards.rails, IsEmpty());
  EXPECT_THAT(sharers(first), IsEmpty());
  EXPECT_THAT(sharers(cards), IsEmpty());
}

TEST_F(SharingTest, AddsWhatIsLacking) {
  Lease first = attached("a");
  const std::vector<RailRequest> both{{second_, "roce0"}, {rail_, "roce1"}};
  const Lease second = try_allocate("b", both, in_).take();
  EXPECT_THAT(rails(second), ElementsAre("ens1f0 roce0", "ens1f1 roce1"));
  EXPECT_EQ(stored(first).rails, second.rails);
  const Lease third = try_allocate("c", both, in_).take();
  EXPECT_EQ(third.rails, second.rails);
  // The first one, which read its lease before, has them as soon as it changes it.
  ASSERT_EQ(first.rails.size(), 1U);
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(first, releaser_, "")));
  EXPECT_EQ(first.rails, second.rails);
}

TEST_F(SharingTest, AddsNoSecondFunctionOfARail) {
  config::RailConfig config = rail("", "10.7.0.0/16", "10.7.200.1", "10.7.200.9");
  config.functions = {"vf0", "vf1"};
  const auto mac = [](uint8_t last) { return netns::MacAddress{{2, 9, 9, 9, 9, last}}; };
  const RailRequest request{config, "roce0", {{"vf0", mac(0), ""}, {"vf1", mac(1), ""}}};
  Lease first = try_allocate("a", {request}).take();
  attach(first, in_);
  const Lease second = try_allocate("b", {request}, in_).take();
  EXPECT_THAT(rails(second), ElementsAre("vf0 roce0"));
}

TEST_F(SharingTest, EndsWithTheLast) {
  rail_.last = rail_.first;
  const Lease first = attached("a");
  now_ += 1;
  const Lease second = allocate("b", in_);
  now_ += 1;
  const Lease third = allocate("c", in_);
  release(first);
  EXPECT_THAT(stored(first).rails, IsEmpty());
  now_ += 1'000'000;
  EXPECT_THAT(sharers(third), ElementsAre("b"));
  EXPECT_THAT(sharers(stored(first)), IsEmpty());
  EXPECT_TRUE(test::fails(try_allocate("x", {{rail_, "roce0"}}), Code::kBusy, "(b)"));
  // One can be shared with as long as one is left, also when it was not the first.
  EXPECT_EQ(allocate("d", in_).attachment, first.id);
  release(third);
  EXPECT_EQ(stored(second).rails, first.rails);
  release(second);
  EXPECT_FALSE(try_allocate().ok());
  release(ledger_.get("d").take());
  EXPECT_FALSE(try_allocate().ok()) << "in quarantine";
  now_ += 2000;
  EXPECT_TRUE(test::succeeds(try_allocate()));
}

// The address of an interface that could not be removed yet is not free, though the container that
// shared it is done.
TEST_F(SharingTest, DoesNotEndBeforeARelease) {
  rail_.last = rail_.first;
  Lease first = attached("a");
  const Lease second = allocate("b", in_);
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(first, releaser_, "")));
  EXPECT_THAT(sharers(second), IsEmpty()) << "so that the second one removes the interface";
  release(second);
  now_ += 1'000'000;
  EXPECT_FALSE(try_allocate().ok());
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(first)));
  now_ += 2000;
  EXPECT_TRUE(test::succeeds(try_allocate()));
}

// It would be a second interface with the same address.
TEST_F(SharingTest, RefusesToAttachTheInterfacesInAnotherNamespace) {
  const Lease first = attached("a");
  Lease second = allocate("b", in_);
  netns::Identity other = in_;
  ++other.inode;
  EXPECT_TRUE(test::fails(ledger_.begin_attach(second, {5001, 1, 1}, {other, 8, 99}),
                          Code::kInvalid, "that it was to share with"));
  attach(second, in_);
}

}  // namespace
}  // namespace hook::ledger
