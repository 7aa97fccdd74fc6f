// SPDX-License-Identifier: Apache-2.0
// The network of a lease, in namespaces that the test makes: attach, release, reconcile.
#include "hook/lifecycle/attach.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/process.h"
#include "base/text.h"
#include "tests/support/hook_host.h"
#include "tests/support/requires.h"

namespace hook {
namespace {

using base::Code;
using base::Fd;
using base::Status;
using base::str;
using testing::HasSubstr;
using testing::Not;

// The first process of a container: it has a network namespace of its own and does nothing.
class Init {
 public:
  Init() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const Fd ready(ends[0]);
    Fd done(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::unshare(CLONE_NEWNET) != 0) ::_exit(1);
      done.reset();
      for (;;) ::pause();
    }
    done.reset();
    char unused = 0;
    (void)!::read(ready.get(), &unused, 1);
  }
  Init(const Init&) = delete;
  Init& operator=(const Init&) = delete;
  ~Init() { end(); }

  void end() {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string state() const {
    return str(R"({"id":"web","bundle":"/b","status":"creating","pid":)", pid_, "}");
  }
  // The names of its interfaces, as it sees them.
  [[nodiscard]] std::string interfaces() const {
    return base::read_file(str("/proc/", pid_, "/net/dev"), 1 << 16).take();
  }
  [[nodiscard]] std::string network() const { return str("/proc/", pid_, "/ns/net"); }

 private:
  pid_t pid_ = -1;
};

constexpr const char* kParent = "rail0";

class AttachedTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRES_ROOT();
    home_ = base::open_at(AT_FDCWD, "/proc/self/ns/net", O_RDONLY).take();
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0);
    ip("link add rail0 type veth peer name fabric0");
    ip("address add 10.5.0.9/16 dev rail0");
    ip("link set fabric0 up");
    ip("link set rail0 up");
  }
  void TearDown() override {
    if (!home_.valid()) return;  // skipped
    ASSERT_EQ(::setns(home_.get(), CLONE_NEWNET), 0);
  }

  // Runs ip(8) in the namespace of this process, which is the host's here.
  static void ip(const std::string& words) {
    std::vector<std::string> args = {"ip"};
    for (const std::string_view word : base::split(words, ' ')) args.emplace_back(word);
    const base::Result<base::Output> done =
        base::run({"/sbin/ip", args, {}, "", 1 << 16, {}}, test::HookHost::soon());
    ASSERT_TRUE(test::succeeds(done));
    ASSERT_EQ(done.value().exit_status, 0) << words;
  }
  Status attach(const Lease& lease) {
    return attach_container(host_.env, lease.id, init_.state(), test::HookHost::soon());
  }
  Lease start_and_attach() {
    const Lease lease = host_.start("web", 4);
    EXPECT_TRUE(test::succeeds(attach(lease)));
    return host_.stored(lease);
  }
  Status poststop(const Lease& lease) {
    return release_by_id(host_.env, lease.id, test::HookHost::soon());
  }

  Fd home_;
  test::HookHost host_{16, kParent};
  Init init_;
};

TEST_F(AttachedTest, MakesTheLeaseRunWithTheFirstProcessOfTheContainer) {
  const Lease lease = start_and_attach();
  EXPECT_EQ(lease.state, LeaseState::kRunning);
  EXPECT_EQ(lease.owner, base::identify_process(init_.pid()).value());
  EXPECT_EQ(lease.netns, netns::Namespace::of_process(init_.pid()).value().identity());
  EXPECT_GE(lease.netns_id, 0);
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
}

TEST_F(AttachedTest, DoesNothingTheSecondTime) {
  const Lease lease = start_and_attach();
  EXPECT_TRUE(test::succeeds(attach(lease)));
  EXPECT_EQ(host_.stored(lease).generation, lease.generation);
}

TEST_F(AttachedTest, IsGivenBackWhileTheNamespaceLivesOn) {
  const Lease lease = start_and_attach();
  EXPECT_TRUE(test::succeeds(poststop(lease)));
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, LeaseState::kFree);
}

TEST_F(AttachedTest, IsGivenBackAfterTheNamespaceHasGone) {
  const Lease lease = start_and_attach();
  init_.end();
  EXPECT_TRUE(test::succeeds(poststop(lease)));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(AttachedTest, IsGivenBackByReconcileOnceTheContainerEnded) {
  const Lease lease = start_and_attach();
  EXPECT_TRUE(reconcile(host_.env, test::HookHost::soon()).value().released.empty());
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
  init_.end();
  EXPECT_EQ(reconcile(host_.env, test::HookHost::soon()).value().released.size(), 1U);
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, LeaseState::kFree);
}

TEST_F(AttachedTest, LeavesNothingWhenTheParentHasGone) {
  const Lease lease = host_.start("web", 4);
  ip("link delete rail0");
  const Status failed = attach(lease);
  EXPECT_TRUE(test::fails(failed, Code::kNotFound, kParent));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, LeaseState::kFailed);
  EXPECT_EQ(host_.stored(lease).error, failed.error().message());
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
}

TEST_F(AttachedTest, LeavesAnInterfaceOfAnotherWithItsNameAlone) {
  ip(str("link add roce0 netns ", init_.pid(), " type veth peer name other0"));
  const Lease lease = host_.start("web", 4);
  EXPECT_TRUE(test::fails(attach(lease), Code::kExists, "roce0"));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
}

TEST_F(AttachedTest, RefusesTheNamespaceOfTheHost) {
  const Lease lease = host_.start("web", 4);
  const std::string state = str(R"({"id":"web","bundle":"/b","pid":)", ::getpid(), "}");
  EXPECT_TRUE(test::fails(attach_container(host_.env, lease.id, state, test::HookHost::soon()),
                          Code::kInvalid));
  EXPECT_TRUE(host_.is_empty());
}

class NetworkPathTest : public AttachedTest {
 protected:
  Status prepare_with(const std::string& path) {
    Bundle bundle = host_.make_bundle(
        "web", str(R"({"linux":{"namespaces":[{"type":"network","path":")", path, R"("}]}})"));
    return prepare_container(host_.env, host_.config, {4, false, {}, ""}, "web", bundle);
  }
};

TEST_F(NetworkPathTest, MayBeOfAnotherContainer) {
  EXPECT_TRUE(test::succeeds(prepare_with(init_.network())));
}

TEST_F(NetworkPathTest, MustNotBeOfTheHost) {
  EXPECT_TRUE(test::fails(prepare_with("/proc/self/ns/net"), Code::kDenied, "--net=host"));
  // Where this host is a container itself, that of the first process cannot even be opened.
  EXPECT_TRUE(test::fails(prepare_with("/proc/1/ns/net"), Code::kDenied));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(NetworkPathTest, MustBeANetworkNamespace) {
  EXPECT_TRUE(test::fails(prepare_with("/proc/self/ns/mnt"), Code::kInvalid));
  EXPECT_TRUE(test::fails(prepare_with("/no/such/namespace"), Code::kNotFound));
  EXPECT_TRUE(host_.is_empty());
}

}  // namespace
}  // namespace hook
