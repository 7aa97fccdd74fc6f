// SPDX-License-Identifier: Apache-2.0
// What a confined process cannot do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/confine/child.h"

namespace test {
namespace {

constexpr Ending kKilled{-1, SIGSYS};

TEST(ConfinedProcess, IsKilledWhenItRunsAProgram) {
  char name[] = "true";
  char* const argv[] = {name, nullptr};
  const auto probe = [&] { return errno_of(::execv("/bin/true", argv)); };
  EXPECT_EQ(unconfined(probe), (Ending{0, 0}));
  EXPECT_EQ(confined(probe), kKilled);
}

TEST(ConfinedProcess, IsKilledWhenItMakesAProcess) {
  const auto probe = [] { return errno_of(::fork()); };
  EXPECT_EQ(unconfined(probe), (Ending{0, 0}));
  EXPECT_EQ(confined(probe), kKilled);
}

TEST(ConfinedProcess, IsKilledWhenItTracesItsParentOrASibling) {
  const pid_t sibling = start_child([] {
    become_nobody();
    return ::pause();
  });
  for (const pid_t other : {::getpid(), sibling}) {
    EXPECT_EQ(confined([&] { return errno_of(::ptrace(PTRACE_ATTACH, other, 0, 0)); }), kKilled);
  }
  ASSERT_EQ(::kill(sibling, SIGKILL), 0);
  EXPECT_EQ(wait_for(sibling).signal, SIGKILL);
}

struct Call {
  const char* name;
  long number;
};

class AttackersCallTest : public testing::TestWithParam<Call> {};

TEST_P(AttackersCallTest, Kills) {
  EXPECT_EQ(confined([] { return errno_of(::syscall(GetParam().number, -1, 0, 0, 0, 0, 0)); }),
            kKilled);
}

INSTANTIATE_TEST_SUITE_P(
    All, AttackersCallTest,
    testing::Values(
        Call{"execveat", SYS_execveat}, Call{"kill", SYS_kill}, Call{"tkill", SYS_tkill},
        Call{"pidfd_open", SYS_pidfd_open}, Call{"process_vm_readv", SYS_process_vm_readv},
        Call{"process_vm_writev", SYS_process_vm_writev}, Call{"setuid", SYS_setuid},
        Call{"setresgid", SYS_setresgid}, Call{"setgroups", SYS_setgroups},
        Call{"capset", SYS_capset}, Call{"mount", SYS_mount}, Call{"umount2", SYS_umount2},
        Call{"chroot", SYS_chroot}, Call{"unshare", SYS_unshare}, Call{"setns", SYS_setns},
        Call{"bpf", SYS_bpf}, Call{"io_uring_setup", SYS_io_uring_setup},
        Call{"keyctl", SYS_keyctl}, Call{"userfaultfd", SYS_userfaultfd},
        Call{"perf_event_open", SYS_perf_event_open}, Call{"personality", SYS_personality}),
    [](const testing::TestParamInfo<Call>& call) { return std::string(call.param.name); });

struct Probe {
  const char* name;
  int (*function)();
};

int open_with(int flags) { return errno_of(::open("/dev/null", flags, 0600)); }
int make_socket(int family, int type, int protocol) {
  return errno_of(::socket(family, type, protocol));
}
int map_with(int protection) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  return ::mmap(nullptr, 4096, protection, kFlags, -1, 0) == MAP_FAILED ? errno : 0;
}
int protect_with(int protection) {
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? errno : errno_of(::mprotect(page, 4096, protection));
}
int raise_limit() {
  const rlimit more{1, 1};
  return errno_of(::setrlimit(RLIMIT_CORE, &more));
}

class MissingCallTest : public testing::TestWithParam<Probe> {};

TEST_P(MissingCallTest, FailsAsOnAnOlderKernel) {
  EXPECT_EQ(confined(GetParam().function), (Ending{ENOSYS, 0}));
}

const Probe kMissing[] = {
    {"OpenForWriting", [] { return open_with(O_WRONLY); }},
    {"OpenForBoth", [] { return open_with(O_RDWR); }},
    {"OpenAndCreate", [] { return open_with(O_RDONLY | O_CREAT); }},
    {"OpenAndTruncate", [] { return open_with(O_RDONLY | O_TRUNC); }},
    {"OpenUnnamedFile", [] { return errno_of(::open("/tmp", O_TMPFILE | O_WRONLY, 0600)); }},
    {"Unlink", [] { return errno_of(::unlink("/nothing")); }},
    {"Rename", [] { return errno_of(::rename("/nothing", "/other")); }},
    {"MakeDirectory", [] { return errno_of(::mkdir("/nothing/x", 0700)); }},
    {"ChangeMode", [] { return errno_of(::chmod("/nothing", 0700)); }},
    {"MemoryFile", [] { return errno_of(::memfd_create("x", 0)); }},
    {"ExecutableMemory", [] { return map_with(PROT_READ | PROT_EXEC); }},
    {"MadeExecutable", [] { return protect_with(PROT_READ | PROT_EXEC); }},
    {"UnixSocket", [] { return make_socket(AF_UNIX, SOCK_STREAM, 0); }},
    {"NetlinkSocket", [] { return make_socket(AF_NETLINK, SOCK_RAW, 0); }},
    {"PacketSocket", [] { return make_socket(AF_PACKET, SOCK_RAW, 0); }},
    {"RawSocket", [] { return make_socket(AF_INET, SOCK_RAW, IPPROTO_TCP); }},
    {"PingSocket", [] { return make_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP); }},
    {"Listen", [] { return errno_of(::listen(0, 1)); }},
    {"Accept", [] { return errno_of(::accept(0, nullptr, nullptr)); }},
    {"NewClone", [] { return errno_of(::syscall(SYS_clone3, 0, 0)); }},
    {"SignalToTheParent",
     [] { return errno_of(::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0)); }},
    {"SignalByDescriptor", [] { return errno_of(::fcntl(0, F_SETOWN, ::getppid())); }},
    {"TerminalInput", [] { return errno_of(::ioctl(0, TIOCSTI, "x")); }},
    {"BecomeDumpable", [] { return errno_of(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }},
    {"OutliveTheParent", [] { return errno_of(::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)); }},
    {"RaiseALimit", raise_limit},
};

INSTANTIATE_TEST_SUITE_P(All, MissingCallTest, testing::ValuesIn(kMissing),
                         [](const testing::TestParamInfo<Probe>& probe) {
                           return std::string(probe.param.name);
                         });

TEST(ConfinedProcess, CannotOpenAFileOfRoots) {
  REQUIRES_ROOT();
  const TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  const auto open = [](const std::string& path) {
    return [path] { return errno_of(::open(path.c_str(), O_RDONLY)); };
  };
  ASSERT_TRUE(succeeds(base::write_atomic(dir / "secret", "x", {0600, {}, {}})));
  ASSERT_TRUE(succeeds(base::write_atomic(dir / "public", "x", {0644, {}, {}})));
  EXPECT_EQ(confined(open(dir / "secret")), (Ending{EACCES, 0}));
  EXPECT_EQ(confined(open(dir / "public")), (Ending{0, 0}));
}

}  // namespace
}  // namespace test
