// SPDX-License-Identifier: Apache-2.0
// What a phase leaves to a process of root, and how a forbidden call ends it.
#include "hook/confinement/enter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "base/forbidden_calls.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/signal_record.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace hook::confinement {
namespace {

using base::str;

constexpr int kNotConfined = 99;
constexpr size_t kMaxText = 1 << 16;

struct Ended {
  int status = 0;      // as of waitpid
  std::string output;  // of both streams

  [[nodiscard]] bool well() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  [[nodiscard]] bool by_forbidden_call() const {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
  }
};

class EnterTest : public testing::Test {
 protected:
  void SetUp() override { REQUIRES_ROOT(); }

  // Runs WORK in a confined child. Its result is the child's exit status.
  Ended confined(Phase phase, const std::function<int()>& work) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const base::Fd output(ends[0]);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      const base::Status entered = enter(phase, "tested", records_);
      if (!entered.ok()) (void)::dprintf(2, "%s", entered.error().message().c_str());
      ::_exit(entered.ok() ? work() : kNotConfined);
    }
    ::close(ends[1]);
    Ended ended;
    const base::Result<std::string> text = base::read_all(output.get(), kMaxText, "output");
    if (text.ok()) ended.output = text.value();
    EXPECT_EQ(::waitpid(child, &ended.status, 0), child);
    return ended;
  }

  Ended calls(Phase phase, long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    return confined(phase, [=] { return ::syscall(number, a, b, c, d) == -12345 ? 1 : 0; });
  }

  const test::TempDir dir_;
  const std::string records_ = dir_ / "records";
};

int print_status() {
  const base::Result<std::string> text = base::read_file("/proc/self/status", kMaxText);
  return text.ok() && ::write(1, text.value().data(), text.value().size()) > 0 ? 0 : 1;
}

std::string field(const std::string& status, const std::string& name) {
  const size_t at = status.find(str("\n", name, ":\t"));
  if (at == std::string::npos) return "absent";
  const size_t start = at + name.size() + 3;
  return status.substr(start, status.find('\n', start) - start);
}

uint64_t capabilities_in(const std::string& status, const std::string& name) {
  return std::stoull(field(status, name), nullptr, 16);
}

std::string text_of(uint64_t capabilities) {
  std::string text;
  for (int number = 0; number < 64; ++number) {
    if ((capabilities >> number & 1) == 0) continue;
    char* const name = ::cap_to_name(number);
    text += str(" ", name);
    (void)::cap_free(name);
  }
  return text;
}

std::string calls_of(Phase phase) {
  std::set<std::string> calls;
  for (const Rule& rule : allowed_calls(phase))
    calls.insert(str(rule.call, rule.where.empty() ? "" : "*"));
  std::string text;
  for (const std::string& call : calls) text += str(" ", call);
  return text;
}

TEST_F(EnterTest, LeavesTheCapabilitiesOfThePhase) {
  const base::Result<std::string> own = base::read_file("/proc/self/status", kMaxText);
  ASSERT_TRUE(test::succeeds(own));
  for (const Phase phase : kPhases) {
    if (phase == Phase::kDoor) continue;  // it cannot read its status; tests/e2e/agent.bats does
    SCOPED_TRACE(name_of(phase));
    const Ended ended = confined(phase, print_status);
    ASSERT_TRUE(ended.well()) << ended.output;
    const std::string& status = ended.output;
    const uint64_t effective = capabilities_in(status, "CapEff");
    std::printf("phase %s\n  effective:%s\n  calls (*: by arguments):%s\n", name_of(phase),
                text_of(effective).c_str(), calls_of(phase).c_str());
    EXPECT_EQ(effective, capabilities_of(phase) & capabilities_in(own.value(), "CapEff"));
    EXPECT_EQ(capabilities_in(status, "CapPrm"), effective);
    EXPECT_EQ(capabilities_in(status, "CapBnd"), effective);
    EXPECT_EQ(capabilities_in(status, "CapInh"), 0U);
    EXPECT_EQ(capabilities_in(status, "CapAmb"), 0U);
    EXPECT_EQ(field(status, "NoNewPrivs"), "1");
    EXPECT_EQ(field(status, "Seccomp"), "2");
  }
}

TEST_F(EnterTest, EndsAForbiddenCallWithARecord) {
  for (const Phase phase : kPhases) {
    SCOPED_TRACE(name_of(phase));
    const Ended ended = calls(phase, SYS_ptrace, PTRACE_TRACEME);
    EXPECT_TRUE(ended.by_forbidden_call()) << ended.status;
    const std::string says =
        str("the system call ptrace (", SYS_ptrace, ") is forbidden in phase ", name_of(phase));
    EXPECT_NE(ended.output.find(says), std::string::npos) << ended.output;
    if (phase == Phase::kDoor) continue;
    const base::Result<std::string> records = base::read_file(records_, kMaxText);
    ASSERT_TRUE(test::succeeds(records));
    EXPECT_NE(records.value().find(says), std::string::npos) << records.value();
    std::printf("%s", ended.output.c_str());
  }
}

TEST_F(EnterTest, EndsCallsThatOnlyAnAttackerMakes) {
  constexpr long kNever[] = {SYS_init_module,
                             SYS_finit_module,
                             SYS_kexec_load,
                             SYS_pivot_root,
                             SYS_chroot,
                             SYS_reboot,
                             SYS_swapon,
                             SYS_perf_event_open,
                             SYS_process_vm_readv,
                             SYS_process_vm_writev,
                             SYS_pidfd_getfd,
                             SYS_keyctl,
                             SYS_open_by_handle_at,
                             SYS_io_uring_setup,
                             SYS_userfaultfd,
                             SYS_setuid,
                             SYS_unshare,
                             SYS_execveat};
  for (const Phase phase : kPhases) {
    for (const long call : kNever) {
      const Ended ended = calls(phase, call, -1, 0, -1, -1);
      EXPECT_TRUE(ended.by_forbidden_call()) << call << " in phase " << name_of(phase);
    }
  }
}

TEST_F(EnterTest, LooksAtArguments) {
  EXPECT_TRUE(calls(Phase::kLease, SYS_setns, -1, CLONE_NEWNET).well());
  EXPECT_TRUE(calls(Phase::kLease, SYS_setns, -1, CLONE_NEWNS).by_forbidden_call());
  EXPECT_TRUE(calls(Phase::kAlone, SYS_setns, -1, CLONE_NEWNS).well());
  EXPECT_TRUE(calls(Phase::kAlone, SYS_setns, -1, CLONE_NEWPID).by_forbidden_call());
  EXPECT_TRUE(calls(Phase::kProbe, SYS_socket, AF_PACKET, SOCK_RAW).well());
  EXPECT_TRUE(calls(Phase::kLease, SYS_socket, AF_PACKET, SOCK_RAW).by_forbidden_call());
  EXPECT_TRUE(calls(Phase::kLease, SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC).well());
  EXPECT_TRUE(calls(Phase::kLease, SYS_socket, AF_INET, SOCK_RAW).by_forbidden_call());
  EXPECT_TRUE(calls(Phase::kWatch, SYS_socket, AF_INET, SOCK_STREAM).by_forbidden_call());
  EXPECT_TRUE(calls(Phase::kWatch, SYS_mmap, 0, 4096, PROT_EXEC, MAP_PRIVATE).by_forbidden_call());
  EXPECT_TRUE(calls(Phase::kLease, SYS_clone, SIGCHLD | CLONE_NEWUSER).by_forbidden_call());
  EXPECT_TRUE(calls(Phase::kProbe, SYS_execve, 0, 0).by_forbidden_call());
  EXPECT_TRUE(calls(Phase::kLease, SYS_execve, 0, 0).well());
}

TEST_F(EnterTest, LetsALookRunAndConnectToNothingElse) {
  for (const long call : {SYS_execve, SYS_clone, SYS_bpf, SYS_mount, SYS_kill})
    EXPECT_TRUE(calls(Phase::kLook, call, -1, 0, 0, 0).by_forbidden_call()) << call;
  EXPECT_TRUE(calls(Phase::kLook, SYS_socket, AF_INET, SOCK_STREAM).by_forbidden_call());
  EXPECT_TRUE(calls(Phase::kLook, SYS_openat, AT_FDCWD, 0, 0, 0).well());
}

TEST_F(EnterTest, LetsTheDoorMakeAndOpenNothing) {
  for (const long call : {SYS_socket, SYS_connect, SYS_bind, SYS_socketpair, SYS_openat, SYS_execve,
                          SYS_clone, SYS_kill, SYS_setns})
    EXPECT_TRUE(calls(Phase::kDoor, call, -1, 0, 0, 0).by_forbidden_call()) << call;
  EXPECT_TRUE(calls(Phase::kDoor, SYS_accept4, -1, 0, 0, 0).well());
}

TEST_F(EnterTest, AnswersSomeCallsAsAnOlderKernel) {
  for (const Phase phase : kPhases) {
    const Ended ended = confined(
        phase, [] { return ::syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS ? 0 : 1; });
    EXPECT_TRUE(ended.well()) << name_of(phase);
  }
}

// A tracer skips a call so.
TEST_F(EnterTest, LetsATracerSkipACall) {
  for (const Phase phase : kPhases) EXPECT_TRUE(calls(phase, -1).well()) << name_of(phase);
}

TEST_F(EnterTest, KeepsItsHandler) {
  const auto ignore = [] {
    (void)std::signal(SIGSYS, SIG_IGN);
    return ::ptrace(PTRACE_TRACEME) == 0 ? 1 : 0;
  };
  for (const Phase phase :
       {Phase::kWatch, Phase::kProbe, Phase::kLease, Phase::kDoor, Phase::kLook})
    EXPECT_TRUE(confined(phase, ignore).by_forbidden_call()) << name_of(phase);
}

TEST_F(EnterTest, EndsAProcessThatBlocksTheSignal) {
  const Ended ended = confined(Phase::kLease, [] {
    sigset_t all;
    sigfillset(&all);
    (void)::sigprocmask(SIG_BLOCK, &all, nullptr);
    return ::ptrace(PTRACE_TRACEME) == 0 ? 1 : 0;
  });
  EXPECT_TRUE(ended.by_forbidden_call());
}

TEST_F(EnterTest, RunsAProgramAsAnotherUserWhoConfinesItself) {
  // The folder of the project may be one that only root can enter.
  namespace fs = std::filesystem;
  const std::string program = dir_ / "ipu-vipu-client";
  fs::copy_file(PROGRAM_DIR "/ipu-vipu-client", program);
  fs::permissions(dir_.path(), fs::perms::others_exec, fs::perm_options::add);
  const base::Command command{program, {"ipu-vipu-client", "dns"},     {}, "nonsense",
                              4096,    base::Credentials{65534, 65534}};
  const Ended ended = confined(Phase::kLease, [&] {
    const auto deadline = base::Deadline::after(std::chrono::seconds(20));
    const base::Result<base::Output> output = base::run(command, deadline);
    (void)::dprintf(1, "%s", output.ok() ? output.value().out.c_str() : "did not run");
    return output.ok() ? output.value().exit_status : kNotConfined;
  });
  EXPECT_TRUE(ended.well()) << ended.status << ": " << ended.output;
}

// As `ipu-container-hook reconcile` does, which a start without the wrapper has started.
TEST_F(EnterTest, TakesMoreFromAProcessThatAStartAloneHasStarted) {
  const Ended ended = confined(Phase::kAlone, [this] {
    return enter(Phase::kLease, "tested", records_).ok() ? print_status() : kNotConfined;
  });
  ASSERT_TRUE(ended.well()) << ended.output;
  EXPECT_EQ(capabilities_in(ended.output, "CapEff") & ~capabilities_of(Phase::kLease), 0U);
  EXPECT_EQ(field(ended.output, "Seccomp_filters"), "2");
}

TEST_F(EnterTest, WritesALimitedNumberOfRecords) {
  ASSERT_TRUE(
      test::succeeds(base::write_atomic(records_, std::string(base::kMaxRecords, 'x'), {})));
  EXPECT_TRUE(calls(Phase::kLease, SYS_ptrace, PTRACE_TRACEME).by_forbidden_call());
  struct stat status {};
  ASSERT_EQ(::stat(records_.c_str(), &status), 0);
  EXPECT_EQ(static_cast<size_t>(status.st_size), base::kMaxRecords);
}

TEST_F(EnterTest, EndsAProcessWhoseStandardErrorIsFull) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const base::Fd reader(ends[0]);
  const base::Fd writer(ends[1]);
  std::string page(4096, 'x');
  while (::write(writer.get(), page.data(), page.size()) > 0) {
  }
  ASSERT_EQ(::fcntl(writer.get(), F_SETFL, 0), 0);  // from here on, a write would wait
  // Helps a process that is stuck. A process, because this one forks, and so has one thread.
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const base::Fd waits(ends[0]);
  base::Fd over(ends[1]);
  const pid_t helper = ::fork();
  if (helper == 0) {
    over = base::Fd();
    pollfd end{waits.get(), POLLIN, 0};
    if (::poll(&end, 1, 10'000) != 0) ::_exit(0);
    while (::read(reader.get(), page.data(), page.size()) > 0) {
    }
    ::_exit(1);
  }
  const Ended ended = confined(Phase::kLease, [&] {
    (void)::close(STDERR_FILENO);
    if (::dup(writer.get()) != STDERR_FILENO) return 1;
    return ::ptrace(PTRACE_TRACEME) == 0 ? 1 : 0;
  });
  over = base::Fd();
  int helped = -1;
  EXPECT_EQ(::waitpid(helper, &helped, 0), helper);
  EXPECT_EQ(helped, 0) << "it was stuck";
  EXPECT_TRUE(ended.by_forbidden_call());
}

TEST_F(EnterTest, WritesNoFileAfterTheNamesMayBeOfAContainer) {
  const Ended ended = confined(Phase::kAlone, [] {
    base::record_on_stderr_only();
    return ::ptrace(PTRACE_TRACEME) == 0 ? 1 : 0;
  });
  EXPECT_TRUE(ended.by_forbidden_call());
  EXPECT_NE(ended.output.find("ptrace"), std::string::npos);
  EXPECT_FALSE(base::read_file(records_, kMaxText).ok());
}

}  // namespace
}  // namespace hook::confinement
