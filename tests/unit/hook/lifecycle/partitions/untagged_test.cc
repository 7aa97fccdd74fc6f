// SPDX-License-Identifier: Apache-2.0
// Names of a release before 0.1, such as "c-0123456789ab", after an upgrade: they do not say whose
// they are, and are this host's exactly if its ledger has them. The rows are written by that
// release's own statements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/hook_host.h"
#include "tests/support/sql.h"

namespace hook::lifecycle::partitions {
namespace {

using base::str;
using testing::AllOf;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr const char* kRunning = "c-111111111111";
constexpr const char* kCut = "c-222222222222";      // its start was killed
constexpr const char* kOrphan = "c-333333333333";   // its lease has ended
constexpr const char* kStrange = "c-444444444444";  // in no ledger of this host
constexpr const char* kWarmOne = "w-555555555555";
constexpr const char* kStrangeWarm = "w-666666666666";

class UntaggedTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {kRunning, kCut, kOrphan, kStrange, kWarmOne, kStrangeWarm})
      ASSERT_TRUE(host_.controller.create({name, 2}, soon()).ok());
    write_lease(kRunning, "RUNNING", base::current_process().take());
    write_lease(kCut, "INTENT", test::dead_process());
    write_lease(kOrphan, "FREE", {});
    sql(
        str("INSERT INTO partition(pool, name, source, kind, state, ipus, gcds, shared,"
            " reconfigurable, dirty, resetter, boot_id, created_ms, owner_pid, owner_start,"
            " owner_pid_namespace) VALUES('pod16','",
            kWarmOne, "','", source(), "','WARM','READY',2,1,0,0,0,'','',1,0,0,0)"));
  }
  static base::Deadline soon() { return test::HookHost::soon(); }
  [[nodiscard]] std::string source() const { return config::source_of(host_.config.pools[0]); }
  void sql(const std::string& statement) {
    ASSERT_TRUE(test::succeeds(test::run_sql(host_.dir / "state/ledger.db", statement)));
  }
  void write_lease(const std::string& partition, const char* state, const base::ProcessId& owner) {
    const std::string id = partition.substr(2) + "00000000000000000000";
    sql(
        str("INSERT INTO lease(id, container, bundle, tenant, pool, controller, partition, ipus,"
            " created_ms, state, generation, owner_pid, owner_start, boot_id, netns_device,"
            " netns_inode, netns_cookie, netns_id, prohibited, error, obstacle, changed_ms,"
            " owner_pid_namespace, host_netns_cookie, attachment, gcd, origin) VALUES('",
            id, "','", partition, "-container','','','pod16','", source(), "','", partition,
            "',2,1,'", state, "',1,", owner.pid, ",", owner.start_time, ",'",
            base::boot_id().take(), "',0,0,0,-1,'','','',", base::unix_millis(), ",",
            owner.pid_namespace, ",0,'", id, "',0,'OWN')"));
  }
  test::HookHost host_;
};

TEST_F(UntaggedTest, AreThisHostsExactlyIfItsLedgerHasThem) {
  EXPECT_THAT(end::reconcile(host_.env, soon()).take().obstacles, IsEmpty());
  EXPECT_THAT(host_.partitions(), UnorderedElementsAre(kRunning, kStrange, kWarmOne, kStrangeWarm));
}

TEST_F(UntaggedTest, AreTakenWarmByTheirStoredName) {
  host_.config.pools[0].warm = {{2, 1}};
  EXPECT_EQ(host_.start("web", 2).partition, kWarmOne);
}

TEST_F(UntaggedTest, AreReleasedByTheirStoredName) {
  const ledger::Lease running = host_.lease_of(str(kRunning, "-container"));
  ASSERT_TRUE(test::succeeds(end::release_by_id(host_.env, running.id, soon())));
  EXPECT_THAT(host_.partitions(), AllOf(Not(Contains(kRunning)), Contains(kStrange)));
}

}  // namespace
}  // namespace hook::lifecycle::partitions
