// SPDX-License-Identifier: Apache-2.0
// What reconcile makes of real processes: in cgroups and namespaces that the test makes.
#include "hook/lifecycle/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/text.h"
#include "hook/container/device/cgroup.h"
#include "netns/namespace.h"
#include "tests/support/attached.h"

namespace hook {
namespace {

using base::str;
using test::AttachedTest;
using test::HookHost;
using test::Init;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LivenessTest : public AttachedTest {
 protected:
  void SetUp() override {
    AttachedTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const bool is_second = std::filesystem::exists("/sys/fs/cgroup/cgroup.procs");
    name_ = str(is_second ? "" : "/devices", "/ipu-test-", ::getpid());
    cgroup_ = str("/sys/fs/cgroup", name_);
    ASSERT_EQ(::mkdir(cgroup_.c_str(), 0755), 0) << cgroup_;
    std::filesystem::create_directories(host_.dir / "sys/fs");
    std::filesystem::create_directory_symlink("/sys/fs/cgroup", host_.dir / "sys/fs/cgroup");
    enter(init_);
  }
  void TearDown() override {
    init_.end();
    if (!cgroup_.empty()) {
      EXPECT_EQ(::rmdir(cgroup_.c_str()), 0) << cgroup_;
    }
    AttachedTest::TearDown();
  }
  void enter(const Init& process) {
    const base::Fd file = base::open_at(AT_FDCWD, cgroup_ + "/cgroup.procs", O_WRONLY).take();
    ASSERT_TRUE(test::succeeds(base::write_all(file.get(), str(process.pid()), "cgroup.procs")));
  }
  lifecycle::end::Reconciled reconciled() {
    return lifecycle::end::reconcile(host_.env, HookHost::soon()).take();
  }
  // What the low-level runtime says is the container's first process.
  void record(const Init& process) {
    const base::ProcessId id = base::identify_process(process.pid()).take();
    const std::string text =
        str(R"({"init_process_pid":)", id.pid, R"(,"init_process_start":)", id.start_time, "}");
    ASSERT_TRUE(test::succeeds(base::write_atomic(host_.dir / "state/state.json", text, {})));
  }
  ledger::Lease start_with_state() {
    inject::Bundle bundle = host_.make_bundle("web");
    request::Request request;
    request.ipus = 4;
    EXPECT_TRUE(test::succeeds(lifecycle::start::prepare_container(
        host_.env, host_.config, request, "web", oci::parse_spec(bundle.config()).take(), bundle,
        host_.dir / "state")));
    const ledger::Lease lease = host_.lease_of("web");
    EXPECT_TRUE(test::succeeds(attach(lease)));
    return host_.stored(lease);
  }
  std::string name_;
  std::string cgroup_;
};

TEST_F(LivenessTest, KnowsTheCgroupOfTheContainer) {
  EXPECT_EQ(start_and_attach().cgroup, name_);
  EXPECT_EQ(device::find_cgroup(::getpid(), "/sys/fs/cgroup"), "") << "its engine is in it too";
}

// As with --pid=host, where the end of the first process does not end the others.
TEST_F(LivenessTest, LeavesAContainerAloneWhoseFirstProcessAloneEnded) {
  Init other("web", &init_);
  enter(other);
  const ledger::Lease lease = start_and_attach();
  init_.end();
  const lifecycle::end::Reconciled done = reconciled();
  EXPECT_THAT(done.released, IsEmpty());
  EXPECT_THAT(done.unknown, IsEmpty());
  EXPECT_THAT(other.interfaces(), HasSubstr("roce0:"));
  EXPECT_EQ(host_.stored(lease).generation, lease.generation);
  other.end();
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(LivenessTest, TakesACgroupWithALaterContainerInItForEmpty) {
  const ledger::Lease lease = start_and_attach();
  init_.end();
  Init later;
  enter(later);
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
}

TEST_F(LivenessTest, LeavesTheInterfacesToASharerWhoseFirstProcessAloneEnded) {
  const ledger::Lease lease = start_and_attach();
  Init first("second", &init_);
  Init rest("second", &init_);
  enter(first);
  enter(rest);
  ASSERT_TRUE(test::succeeds(prepare_in("second", init_, 4)));
  ASSERT_TRUE(test::succeeds(attach(host_.lease_of("second"), first)));
  first.end();
  ASSERT_TRUE(test::succeeds(poststop(lease)));
  EXPECT_THAT(rest.interfaces(), HasSubstr("roce0:"));
  rest.end();
  init_.end();
  reconciled();
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(LivenessTest, FollowsAContainerThatWasRestored) {
  const ledger::Lease lease = start_with_state();
  Init restored("web", &init_);
  record(restored);
  init_.end();
  EXPECT_THAT(reconciled().adopted, ElementsAre(lease.id));
  EXPECT_EQ(host_.stored(lease).owner, base::identify_process(restored.pid()).value());
  EXPECT_THAT(restored.interfaces(), HasSubstr("roce0:"));
  EXPECT_THAT(reconciled().adopted, IsEmpty());
  restored.end();
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
}

TEST_F(LivenessTest, DoesNotFollowOneThatWasRestoredElsewhere) {
  const ledger::Lease lease = start_with_state();
  Init elsewhere;
  record(elsewhere);
  init_.end();
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
}

TEST_F(LivenessTest, TakesAFirstProcessThatNobodyReapedForEnded) {
  const ledger::Lease lease = start_and_attach();
  ASSERT_EQ(::kill(init_.pid(), SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(init_.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
}

// As a sandbox whose processes end with it: it is in no namespace, and waits until they are reaped.
TEST_F(LivenessTest, LeavesNothingToASharerWhoseFirstProcessWaitsForTheDead) {
  const base::Fd own = base::open_at(AT_FDCWD, "/proc/self/ns/pid", O_RDONLY).take();
  ASSERT_EQ(::unshare(CLONE_NEWPID), 0);
  Init sandbox;
  Init first("first", &sandbox);
  ASSERT_EQ(::setns(own.get(), CLONE_NEWPID), 0);
  const ledger::Lease lease = host_.start("web", 4);
  ASSERT_TRUE(test::succeeds(attach(lease, sandbox)));
  ASSERT_TRUE(test::succeeds(prepare_in("first", sandbox, 4)));
  ASSERT_TRUE(test::succeeds(attach(host_.lease_of("first"), first)));
  ASSERT_EQ(::kill(sandbox.pid(), SIGKILL), 0);
  const base::Deadline soon = HookHost::soon();
  while (netns::Namespace::of_process(sandbox.pid()).ok() && !soon.passed()) {
    base::sleep_for(std::chrono::milliseconds(1), soon);
  }
  ASSERT_TRUE(base::identify_process(sandbox.pid()).ok()) << "it is no zombie";
  EXPECT_TRUE(test::succeeds(poststop(host_.lease_of("first"))));
  first.end();
  sandbox.end();
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(LivenessTest, LeavesWhatIsNotOursNextToWhatIs) {
  const ledger::Lease lease = start_and_attach();
  ip(str("link add roce1 link ", kParent, " type macvlan mode private"));
  const Init neighbour("other");
  ip(str("link add roce0 link ", kParent, " netns ", neighbour.pid(),
         " type macvlan mode private"));
  const std::string directory = host_.dir / "run/leases/0123456789abcdef0123456789abcdef";
  ASSERT_TRUE(test::succeeds(base::ensure_dir(directory, 0755)));
  ASSERT_TRUE(test::succeeds(base::ensure_dir(host_.dir / "run/netns", 0700)));
  ASSERT_TRUE(test::succeeds(base::write_atomic(host_.dir / "run/netns/other", "", {})));
  ASSERT_TRUE(host_.controller.create({"of-others", 4, false, ""}, HookHost::soon()).ok());
  init_.end();
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_THAT(ip("-o link"), HasSubstr("roce1@"));
  EXPECT_THAT(neighbour.interfaces(), HasSubstr("roce0:"));
  EXPECT_TRUE(std::filesystem::exists(directory));
  EXPECT_TRUE(std::filesystem::exists(host_.dir / "run/netns/other"));
  EXPECT_THAT(host_.partitions(), ElementsAre("of-others"));
}

}  // namespace
}  // namespace hook
