// SPDX-License-Identifier: Apache-2.0
#include "hook/confinement/lists/phases.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string>

namespace hook::confinement {
namespace {

// Evaluates the rules as the kernel does the filter.
bool holds(const Argument& argument, const std::vector<uint64_t>& values) {
  const uint64_t value = argument.index < values.size() ? values[argument.index] : 0;
  if (argument.must == Argument::Must::kDiffer) return value != argument.value;
  return (value & argument.mask) == argument.value;
}

bool allows(Phase phase, std::string_view call, const std::vector<uint64_t>& values = {}) {
  const std::vector<Rule> rules = allowed_calls(phase);
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return rule.call == call &&
           std::all_of(rule.where.begin(), rule.where.end(),
                       [&](const Argument& argument) { return holds(argument, values); });
  });
}

std::set<std::string_view> names_of(Phase phase) {
  std::set<std::string_view> names;
  for (const Rule& rule : allowed_calls(phase)) names.insert(rule.call);
  return names;
}

// The phases in which CALL with VALUES does not end the process.
std::string phases_with(std::string_view call, const std::vector<uint64_t>& values = {}) {
  std::string text;
  for (const Phase phase : kPhases) {
    if (allows(phase, call, values)) text += std::string(text.empty() ? "" : " ") + name_of(phase);
  }
  return text;
}

uint64_t set_of(std::initializer_list<int> capabilities) {
  uint64_t set = 0;
  for (const int capability : capabilities) set |= uint64_t{1} << capability;
  return set;
}

TEST(Capabilities, AreThoseOfTheTableInSecurityMd) {
  EXPECT_EQ(capabilities_of(Phase::kWatch), set_of({CAP_NET_ADMIN, CAP_BPF, CAP_SYS_RESOURCE}));
  EXPECT_EQ(capabilities_of(Phase::kProbe), set_of({CAP_NET_RAW}));
  const uint64_t lease =
      set_of({CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
              CAP_SYS_RESOURCE, CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_KILL});
  EXPECT_EQ(capabilities_of(Phase::kLease), lease);
  EXPECT_EQ(capabilities_of(Phase::kAlone),
            lease | set_of({CAP_NET_RAW, CAP_MKNOD, CAP_SYS_CHROOT}));
  EXPECT_EQ(capabilities_of(Phase::kAgent), lease | set_of({CAP_BPF}));
  EXPECT_EQ(capabilities_of(Phase::kDoor), 0U);
  EXPECT_EQ(capabilities_of(Phase::kLook), set_of({CAP_DAC_READ_SEARCH, CAP_SYS_RESOURCE}));
}

// Returns what is behind "CapabilityBoundingSet=" in a unit of packaging/systemd.
std::set<std::string> capabilities_of_unit(const std::string& unit) {
  std::ifstream file(std::string(TEST_DATA_DIR "/../../packaging/systemd/") + unit);
  const std::string key = "CapabilityBoundingSet=";
  std::string line;
  while (std::getline(file, line) && !line.starts_with(key)) continue;
  std::istringstream words(line.substr(std::min(line.size(), key.size())));
  std::set<std::string> names;
  for (std::string name; words >> name;) names.insert(name);
  return names;
}

// gc attaches nothing, so its unit has no CAP_DAC_OVERRIDE.
TEST(Capabilities, AreThoseOfTheUnits) {
  EXPECT_EQ(capabilities_of_unit("ipu-container-toolkit-gc.service"),
            (std::set<std::string>{"CAP_NET_ADMIN", "CAP_SYS_ADMIN", "CAP_SYS_PTRACE",
                                   "CAP_DAC_READ_SEARCH", "CAP_SYS_RESOURCE", "CAP_SETUID",
                                   "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL"}));
  // Its unit lifts the limit of locked memory instead.
  EXPECT_EQ(capabilities_of_unit("ipu-border.service"),
            (std::set<std::string>{"CAP_NET_ADMIN", "CAP_BPF"}));
  EXPECT_EQ(
      capabilities_of_unit("ipu-agent.service"),
      (std::set<std::string>{"CAP_NET_ADMIN", "CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_DAC_OVERRIDE",
                             "CAP_DAC_READ_SEARCH", "CAP_SYS_RESOURCE", "CAP_SETUID", "CAP_SETGID",
                             "CAP_SETPCAP", "CAP_KILL", "CAP_BPF"}));
}

TEST(Calls, OfAnAttackerAreInNoPhase) {
  constexpr std::string_view kNever[] = {"acct",
                                         "add_key",
                                         "adjtimex",
                                         "chroot",
                                         "clock_adjtime",
                                         "clock_settime",
                                         "create_module",
                                         "delete_module",
                                         "execveat",
                                         "finit_module",
                                         "fspick",
                                         "init_module",
                                         "io_uring_enter",
                                         "io_uring_register",
                                         "io_uring_setup",
                                         "ioperm",
                                         "iopl",
                                         "kcmp",
                                         "kexec_file_load",
                                         "kexec_load",
                                         "keyctl",
                                         "lookup_dcookie",
                                         "mknod",
                                         "modify_ldt",
                                         "name_to_handle_at",
                                         "open_by_handle_at",
                                         "perf_event_open",
                                         "personality",
                                         "pidfd_getfd",
                                         "pivot_root",
                                         "process_vm_readv",
                                         "process_vm_writev",
                                         "ptrace",
                                         "quotactl",
                                         "reboot",
                                         "request_key",
                                         "rt_sigqueueinfo",
                                         "rt_tgsigqueueinfo",
                                         "setdomainname",
                                         "setfsuid",
                                         "setgid",
                                         "sethostname",
                                         "setreuid",
                                         "setuid",
                                         "settimeofday",
                                         "swapoff",
                                         "swapon",
                                         "syslog",
                                         "tkill",
                                         "userfaultfd",
                                         "vhangup"};
  for (const Phase phase : kPhases) {
    const std::set<std::string_view> allowed = names_of(phase);
    for (const std::string_view call : kNever) {
      EXPECT_FALSE(allowed.contains(call)) << call << " in phase " << name_of(phase);
      for (const AbsentCall& absent : absent_calls(phase)) EXPECT_NE(absent.call, call);
    }
  }
}

TEST(Calls, ThatRunAProgramAreOnlyWhereTheClientIsRun) {
  for (const std::string_view call :
       {"execve", "wait4", "kill", "setresuid", "setgroups", "capset"})
    EXPECT_EQ(phases_with(call), "lease alone agent") << call;
  EXPECT_EQ(phases_with("clone", {SIGCHLD}), "lease alone agent");
  EXPECT_EQ(phases_with("clone", {SIGCHLD | CLONE_NEWUSER}), "");
  EXPECT_EQ(phases_with("clone", {SIGCHLD | CLONE_NEWNS}), "");
  EXPECT_EQ(phases_with("unshare", {CLONE_NEWUSER}), "lease alone agent");
  EXPECT_EQ(phases_with("unshare", {CLONE_NEWUSER | CLONE_NEWNET}), "");
  EXPECT_EQ(phases_with("unshare", {CLONE_NEWNET}), "");
  EXPECT_EQ(phases_with("mmap", {0, 4096, PROT_READ | PROT_EXEC}), "lease alone agent");
  EXPECT_EQ(phases_with("mprotect", {0, 4096, PROT_READ | PROT_EXEC}), "lease alone agent");
  EXPECT_EQ(phases_with("mmap", {0, 4096, PROT_READ | PROT_WRITE}),
            "watch probe lease alone agent door look");
}

TEST(Calls, OpenOnlySocketsOfFamiliesThatThePhaseUses) {
  const auto opened = [](uint64_t family, uint64_t type, uint64_t protocol = 0) {
    return phases_with("socket", {family, type | SOCK_CLOEXEC, protocol});
  };
  EXPECT_EQ(opened(AF_UNIX, SOCK_DGRAM), "watch probe lease alone agent look");
  EXPECT_EQ(opened(AF_NETLINK, SOCK_RAW), "watch probe lease alone agent look");
  EXPECT_EQ(opened(AF_PACKET, SOCK_RAW), "probe alone");
  EXPECT_EQ(opened(AF_INET, SOCK_STREAM), "lease alone agent");
  EXPECT_EQ(opened(AF_INET6, SOCK_DGRAM, IPPROTO_UDP), "lease alone agent");
  EXPECT_EQ(opened(AF_INET, SOCK_RAW, IPPROTO_ICMP), "");
  EXPECT_EQ(opened(AF_INET6, SOCK_RAW), "");
  EXPECT_EQ(opened(AF_VSOCK, SOCK_STREAM), "");
  EXPECT_EQ(opened(AF_ALG, SOCK_SEQPACKET), "");
}

TEST(Calls, AcceptConnectionsAtTheDoorAndForEndpoints) {
  EXPECT_EQ(phases_with("accept4"), "lease alone agent door");
  EXPECT_EQ(phases_with("listen"), "lease alone agent");
  for (const std::string_view call : {"connect", "bind", "socketpair", "openat", "unlink", "fsync"})
    EXPECT_EQ(phases_with(call), "watch probe lease alone agent look") << call;
}

TEST(Calls, MakeMountsAndDevicesOnlyForAStartWithoutTheWrapper) {
  EXPECT_EQ(phases_with("setns", {3, CLONE_NEWNET}), "watch probe lease alone agent look");
  EXPECT_EQ(phases_with("setns", {3, CLONE_NEWNS}), "alone");
  EXPECT_EQ(phases_with("setns", {3, 0}), "");
  EXPECT_EQ(phases_with("setns", {3, CLONE_NEWPID}), "");
  EXPECT_EQ(phases_with("move_mount"), "alone");
  EXPECT_EQ(phases_with("open_tree"), "alone");
  EXPECT_EQ(phases_with("mknodat", {3, 0, S_IFCHR | 0666}), "alone");
  EXPECT_EQ(phases_with("mknodat", {3, 0, S_IFBLK | 0666}), "");
  EXPECT_EQ(phases_with("mknodat", {3, 0, S_IFREG | 0666}), "");
  EXPECT_EQ(phases_with("mount", {0, 0, 0, MS_BIND}), "lease alone agent");
  EXPECT_EQ(phases_with("mount", {0, 0, 0, MS_REMOUNT | MS_BIND}), "");
  EXPECT_EQ(phases_with("mount", {0, 0, 0, 0}), "");
  EXPECT_EQ(phases_with("umount2", {0, MNT_DETACH | UMOUNT_NOFOLLOW}), "lease alone agent");
  EXPECT_EQ(phases_with("umount2", {0, 0}), "");
}

TEST(Calls, ToAnotherProcessAreFew) {
  EXPECT_EQ(phases_with("prlimit64", {0, RLIMIT_NOFILE}), "watch probe lease alone agent look");
  EXPECT_EQ(phases_with("prlimit64", {1, RLIMIT_NOFILE}), "");
  EXPECT_EQ(phases_with("prlimit64", {1, RLIMIT_MEMLOCK}), "alone");
  EXPECT_EQ(phases_with("tgkill", {1, 1, SIGSTOP}), "");
  EXPECT_EQ(phases_with("pidfd_send_signal", {3, SIGTERM}), "lease alone agent");
  EXPECT_EQ(phases_with("pidfd_send_signal", {3, SIGKILL}), "lease alone agent");
  EXPECT_EQ(phases_with("pidfd_send_signal", {3, SIGSTOP}), "");
  EXPECT_EQ(phases_with("fcntl", {3, F_SETOWN, 1}), "");
}

// Where a program of ours may be started, it must be able to set its own.
TEST(Calls, LeaveTheHandlerOfForbiddenCallsInPlace) {
  EXPECT_EQ(phases_with("rt_sigaction", {SIGSYS}), "alone agent");
  EXPECT_EQ(phases_with("rt_sigaction", {(uint64_t{1} << 32) + SIGSYS}), "alone agent");
  EXPECT_EQ(phases_with("rt_sigaction", {SIGPIPE}), "watch probe lease alone agent door look");
}

// It starts `ipu-container-hook probe`, which inherits its filter.
TEST(Calls, OfAStartAloneIncludeThoseOfTheProgramsThatItStarts) {
  const std::set<std::string_view> alone = names_of(Phase::kAlone);
  for (const Phase phase : {Phase::kProbe, Phase::kLease}) {
    for (const std::string_view call : names_of(phase))
      EXPECT_TRUE(alone.contains(call)) << call << " of phase " << name_of(phase);
    EXPECT_EQ(capabilities_of(phase) & ~capabilities_of(Phase::kAlone), 0U) << name_of(phase);
  }
}

// ipu-agent starts ipuctl and `ipu-container-hook reconcile`.
TEST(Calls, OfTheAgentIncludeThoseOfTheProgramsThatItStarts) {
  const std::set<std::string_view> agent = names_of(Phase::kAgent);
  for (const Phase phase : {Phase::kWatch, Phase::kLease}) {
    for (const std::string_view call : names_of(phase))
      EXPECT_TRUE(agent.contains(call)) << call << " of phase " << name_of(phase);
    EXPECT_EQ(capabilities_of(phase) & ~capabilities_of(Phase::kAgent), 0U) << name_of(phase);
  }
}

TEST(Calls, AreEitherAllowedOrAbsent) {
  for (const Phase phase : kPhases) {
    const std::set<std::string_view> allowed = names_of(phase);
    for (const AbsentCall& absent : absent_calls(phase))
      EXPECT_FALSE(allowed.contains(absent.call)) << absent.call;
  }
}

}  // namespace
}  // namespace hook::confinement
