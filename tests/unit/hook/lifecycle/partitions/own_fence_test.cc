// SPDX-License-Identifier: Apache-2.0
// What a host that was fenced and lives has lost.
#include "hook/lifecycle/partitions/own_fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "base/fs.h"
#include "netns/namespace.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::partitions {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ledger::Lease running(const std::string& id, const std::string& partition) {
  ledger::Lease lease;
  lease.id = id;
  lease.pool = "pod16";
  lease.controller = "10.5.1.254:8090";
  lease.partition = partition;
  lease.state = ledger::LeaseState::kRunning;
  lease.created_ms = 1000;
  return lease;
}

std::vector<std::string> cut(const std::vector<ledger::Lease>& live) {
  std::vector<std::string> ids;
  for (const ledger::Lease& one : cut_off(live, "11111111", "/f/")) ids.push_back(one.id);
  return ids;
}

TEST(CutOffTest, IsWhatTheFenceRemoved) {
  ledger::Lease claimed = running("claimed", "train");
  claimed.claim = "claimed";
  claimed.fleet = "/f/";
  ledger::Lease joined = running("joined", "train");
  joined.origin = ledger::Origin::kJoined;
  EXPECT_THAT(cut({running("own", "c-11111111-0123456789ab"),
                   running("reserved", "r-11111111-0123456789ab"), joined, claimed}),
              ElementsAre("own", "reserved", "joined", "claimed"));
}

TEST(CutOffTest, IsNothingElse) {
  ledger::Lease other_fleet = running("other fleet", "train");
  other_fleet.claim = "other fleet";
  other_fleet.fleet = "/other/";
  ledger::Lease slice = running("slice", "c-11111111-0123456789ab");
  slice.controller = "ipuof:/etc/ipuof.conf.d/pod.conf";
  ledger::Lease cards = slice;
  cards.controller = "pcie:";
  ledger::Lease ends = running("ends", "c-11111111-0123456789ab");
  ends.state = ledger::LeaseState::kReleasing;
  ledger::Lease joined = running("joined", "named");
  joined.origin = ledger::Origin::kJoined;
  EXPECT_THAT(cut({other_fleet, slice, cards, ends, joined, running("named", "named"),
                   running("untagged", "c-0123456789ab"),
                   running("of another", "c-22222222-0123456789ab")}),
              IsEmpty());
}

// A process of the container, which ends with the object.
class Member {
 public:
  Member() : pid_(::fork()) {
    if (pid_ != 0) return;
    (void)::signal(SIGTERM, SIG_DFL);
    for (;;) (void)::pause();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() {
    if (is_waited_) return;
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Waits for its end, and returns the signal that ended it.
  int signal_of_end() {
    int status = 0;
    (void)::waitpid(pid_, &status, 0);
    is_waited_ = true;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_;
  bool is_waited_ = false;
};

// With --pid=host, the others outlive the first process.
TEST(EndCutOffTest, EndsAllProcessesWhoseFirstOneIsGoneInOneBeat) {
  test::HookHost host;
  ASSERT_TRUE(test::succeeds(host.ledger.host().be_on({"1111111111111111"})));
  ledger::Lease lease = host.start("one", 4);
  const auto network = netns::Namespace::of_process(::getpid()).take().identity();
  const base::ProcessId self = base::current_process().take();
  ASSERT_TRUE(test::succeeds(host.ledger.begin_attach(lease, self, {network, 3, 77})));
  ASSERT_TRUE(test::succeeds(host.ledger.mark_running(lease, test::dead_process(), "/docker/one")));
  std::vector<std::unique_ptr<Member>> members;
  std::string pids;
  for (int i = 0; i < 3; ++i) {
    members.push_back(std::make_unique<Member>());
    pids += base::str(members.back()->pid(), "\n");
  }
  const std::string cgroup = host.env.sysfs + "/fs/cgroup/docker/one";
  std::filesystem::create_directories(cgroup);
  ASSERT_TRUE(test::succeeds(base::write_atomic(cgroup + "/cgroup.procs", pids, {0644, {}, {}})));
  const Ended ended =
      end_cut_off(host.env, {5, base::unix_millis(), ""}, "/f/", base::unix_millis()).take();
  EXPECT_THAT(ended.containers, ElementsAre("one"));
  EXPECT_THAT(ended.obstacles, IsEmpty());
  for (const auto& one : members) EXPECT_EQ(one->signal_of_end(), SIGTERM);
}

}  // namespace
}  // namespace hook::lifecycle::partitions
