// SPDX-License-Identifier: Apache-2.0
// Records of warm partitions that another host broke, or that an older copy of the store has.
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/restored.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "tests/support/warm_fleet.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using base::Json;
using test::Call;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Property;
using testing::SizeIs;

class FleetWarmForeignTest : public test::WarmFleet {
 protected:
  // A warm partition of 4 IPUs by a broken host.
  void put_warm(const std::string& name, const std::string& phase, const std::string& changer,
                const std::string& source) {
    put("warm/pod16/" + name, base::to_text(Json{{"maker", tag(b_)},
                                                 {"phase", phase},
                                                 {"changer", changer},
                                                 {"source", source},
                                                 {"allocation", ""},
                                                 {"cluster", ""},
                                                 {"ipus", 4},
                                                 {"since_ms", 1}}));
  }
  std::string source() const { return config::source_of(a_.config.pools[0]); }
};

TEST_F(FleetWarmForeignTest, OnlyNamesOfAFleetAreGivenOrRemoved) {
  keep({});
  fill(a_);  // joins
  ASSERT_TRUE(a_.controller.create({"prod", 4}, soon()).ok());
  for (const char* const phase : {"idle", "removing", "making"}) {
    SCOPED_TRACE(phase);
    keep({{4, 1}});
    const bool is_idle = std::string_view(phase) == "idle";
    put_warm("prod", phase, is_idle ? "" : tag(a_), source());
    const ledger::Lease lease = a_.start("web", 4);
    EXPECT_NE(lease.partition, "prod");
    ASSERT_TRUE(test::succeeds(stop(a_, "web")));
    EXPECT_THAT(gc(a_), Contains(Property(&Error::message, HasSubstr("something else"))));
    keep({});
    (void)refill(a_.env, a_.config.pools[0], soon());
    std::vector<Error> obstacles;
    fence(b_, tag(a_), obstacles);
    ASSERT_TRUE(test::succeeds(fleet::forget_fence(fleet(), tag(a_))));
    EXPECT_THAT(a_.partitions(), ElementsAre("prod"));
  }
}

TEST_F(FleetWarmForeignTest, ASourceIsAController) {
  const std::string name = fill(a_).made[0];
  put_warm(name, "removing", tag(a_), "ipuof:/etc/passwd");
  EXPECT_THAT(gc(a_), Contains(Property(&Error::message, HasSubstr("something else"))));
  EXPECT_THAT(a_.partitions(), Contains(name));
}

TEST_F(FleetWarmForeignTest, AGrantRemovesNoPartitionOfAnotherName) {
  ASSERT_TRUE(a_.controller.create({"prod", 4}, soon()).ok());
  keep({});
  const ledger::Lease lease = a_.start("web", 2);
  fleet::Grant grant = grants().at(0);
  grant.partition = "prod";
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), grant)));
  ASSERT_TRUE(test::succeeds(stop(a_, "web")));
  EXPECT_THAT(a_.partitions(), ElementsAre("prod"));
  EXPECT_THAT(grants(), IsEmpty());
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), grant)));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(a_.partitions(), ElementsAre("prod"));
  EXPECT_THAT(grants(), IsEmpty());
}

TEST_F(FleetWarmForeignTest, AGrantWithoutItsPartitionIsWrittenAgain) {
  fill(a_);
  const ledger::Lease lease = a_.start("web", 4);
  fleet::Grant older = grants().at(0);
  older.partition.clear();
  ASSERT_TRUE(test::succeeds(fleet::ungrant(fleet(), older.pool, older.id)));
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), older)));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(grants().at(0).partition, lease.partition);
  put("grants/pod16/" + lease.claim, "no JSON");
  (void)gc(a_);  // says so once
  EXPECT_EQ(grants().at(0).partition, lease.partition);
  EXPECT_THAT(gc(a_), IsEmpty());
}

// Nothing bounds the id of a container but the low-level runtime, which looks at it later.
TEST_F(FleetWarmForeignTest, ALongIdOfAContainerDoesNotMakeItsGrantUnreadable) {
  ledger::Lease lease;
  lease.pool = "pod16";
  lease.claim = "0123456789abcdef";
  lease.container = std::string(900, 'x') + "\n";
  lease.ipus = 4;
  fill(a_);
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), grant_of(a_.env, lease))));
  EXPECT_EQ(grants().at(0).container.size(), 256U);
}

// Whatever call fails, a host that has told has its containers in the books.
TEST_F(FleetWarmForeignTest, AHostHasNotToldWhileAGrantIsMissing) {
  fill(a_);
  const ledger::Lease lease = a_.start("web", 4);
  int untold = 0;
  for (int at = 0; at < 24; ++at) {
    SCOPED_TRACE(at);
    ASSERT_TRUE(test::succeeds(fleet::ungrant(fleet(), lease.pool, lease.claim)));
    ask_to_tell(a_);
    auto calls = std::make_shared<int>(0);
    a_.env.store = [this, calls, at](const config::FleetConfig&) {
      return std::make_unique<test::LentStore>(
          store_, [=] { return (*calls)++ == at ? Call::kFails : Call::kAnswered; });
    };
    (void)gc(a_);
    interrupt(a_, -1, [] {});
    const bool has_told = fleet::untold_hosts(fleet()).take().empty();
    untold += has_told ? 0 : 1;
    EXPECT_TRUE(!has_told || grants().size() == 1);
    EXPECT_THAT(gc(a_), IsEmpty());
    EXPECT_THAT(grants(), SizeIs(1));
  }
  EXPECT_GE(untold, 3);
}

// A container of a host that has not told may have the partition as well.
TEST_F(FleetWarmForeignTest, AFenceWaitsForHostsThatHaveNotTold) {
  fill(a_);
  const std::string taken = b_.start("web", 4).partition;
  ask_to_tell(a_);
  ask_to_tell(b_);
  std::vector<Error> obstacles;
  fence(a_, tag(b_), obstacles);
  ASSERT_THAT(obstacles, SizeIs(1));
  EXPECT_THAT(obstacles[0].message(), HasSubstr("has not told since"));
  EXPECT_THAT(a_.partitions(), Contains(taken));
  // The rest of the fence is done, so that nobody waits for the dead host.
  EXPECT_THAT(fleet::untold_hosts(fleet()).take(), ElementsAre(tag(a_)));
  EXPECT_EQ(grants().at(0).partition, taken);
  EXPECT_THAT(gc(a_), IsEmpty());
  obstacles.clear();
  fence(a_, tag(b_), obstacles);
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_THAT(a_.partitions(), testing::Not(Contains(taken)));
}

// Nor need it wait for the one that is fenced.
TEST_F(FleetWarmForeignTest, AFenceEndsTheWaitForItsHost) {
  fill(a_);
  const std::string taken = b_.start("web", 4).partition;
  put("restored/" + tag(b_), "broken");
  std::vector<Error> obstacles;
  fence(a_, tag(b_), obstacles);
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_THAT(a_.partitions(), testing::Not(Contains(taken)));
  EXPECT_THAT(fleet::untold_hosts(fleet()).take(), IsEmpty());
}

// Nobody can tell for it.
TEST_F(FleetWarmForeignTest, AKeyOfNoHostIsNamed) {
  fill(a_);
  const std::string taken = b_.start("web", 4).partition;
  put("restored/nobody", "{}");
  EXPECT_TRUE(test::fails(stop(b_, "web"), Code::kInvalid, "restored/nobody"));
  EXPECT_THAT(a_.partitions(), Contains(taken));
  std::vector<Error> obstacles;
  fence(a_, tag(b_), obstacles);
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_THAT(a_.partitions(), testing::Not(Contains(taken)));
}

TEST_F(FleetWarmForeignTest, AnUnreadableGrantDoesNotKeepItsLease) {
  fill(a_);
  const ledger::Lease lease = a_.start("web", 4);
  put("grants/pod16/" + lease.claim, R"({"host": 1, "partition": "f-nothing"})");
  ASSERT_TRUE(test::succeeds(stop(a_, "web")));
  EXPECT_EQ(a_.live_leases(), 0U);
  EXPECT_THAT(grants(), IsEmpty());
}

}  // namespace
}  // namespace hook::lifecycle::partitions
