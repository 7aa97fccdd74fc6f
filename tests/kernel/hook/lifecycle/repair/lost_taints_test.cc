// SPDX-License-Identifier: Apache-2.0
// A ledger is rebuilt whose taints cannot be read.
#include "hook/lifecycle/repair/rebuild.h"

#include <gmock/gmock.h>

#include "tests/support/hook_host.h"
#include "tests/support/sql.h"

namespace hook::lifecycle::repair {
namespace {

using testing::ElementsAre;

class LostTaintsTest : public testing::Test {
 protected:
  // Rebuilds the ledger of a host with one pool of PROVIDER. Returns what a person is told.
  std::vector<std::string> notes(config::Provider provider) {
    Rebuild wanted;
    wanted.ledger = path_;
    wanted.run_dir = host_.env.run_dir;
    wanted.engines_dir = host_.dir / "engines";
    wanted.pools = host_.config.pools;
    wanted.pools[0].provider = provider;
    wanted.force = true;
    wanted.env = [this](ledger::Ledger& ledger) {
      const Env& env = host_.env;
      return Env{ledger,           env.controller,  env.security,
                 env.start_refill, env.start_probe, env.start_reconcile,
                 env.host,         env.run_dir,     env.hook_program};
    };
    const base::Result<Rebuilt> done = rebuild_ledger(wanted, test::HookHost::soon());
    EXPECT_TRUE(test::succeeds(done));
    return done.ok() ? done.value().notes : std::vector<std::string>();
  }
  void taint(const std::string& ipu) {
    ASSERT_TRUE(test::succeeds(host_.ledger.health().taint("slices", ipu, "parity errors")));
  }

  test::HookHost host_;
  std::string path_ = host_.dir / "state/ledger.db";
};

TEST_F(LostTaintsTest, AreNamedByTheHistory) {
  taint("10.5.1.1:3");
  taint("10.5.1.1:4");
  ASSERT_TRUE(test::succeeds(test::zero_root(path_, "ipu_health")));
  EXPECT_THAT(notes(config::Provider::kVipu),
              ElementsAre("the taints of IPUs cannot be read and are lost; by the history, these"
                          " were tainted: 10.5.1.1:3 of pool slices, 10.5.1.1:4 of pool slices; set"
                          " each again with 'ipuctl health taint IPU --pool NAME'"));
}

TEST_F(LostTaintsTest, AreTheOperatorsToKnowIfTheHistoryHasNone) {
  ASSERT_TRUE(test::succeeds(test::zero_root(path_, "ipu_health")));
  EXPECT_THAT(notes(config::Provider::kIpuof),
              ElementsAre("the taints of IPUs cannot be read and are lost; set each again with"
                          " 'ipuctl health taint IPU --pool NAME'"));
}

TEST_F(LostTaintsTest, AreNoneWhereNoPoolCanHaveThem) {
  ASSERT_TRUE(test::succeeds(test::zero_root(path_, "ipu_health")));
  EXPECT_THAT(notes(config::Provider::kVipu), testing::IsEmpty());
}

TEST_F(LostTaintsTest, AreNoneIfTheyCanBeRead) {
  taint("10.5.1.1:3");
  EXPECT_THAT(notes(config::Provider::kIpuof), testing::IsEmpty());
}

}  // namespace
}  // namespace hook::lifecycle::repair
