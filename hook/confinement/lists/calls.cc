// SPDX-License-Identifier: Apache-2.0
// The calls come from strace of the end-to-end and kernel tests on Debian 12, and from the code of
// these programs. With them stand the calls that glibc, libstdc++, SQLite and libnl make instead on
// other architectures, on older kernels and after errors. A call that an architecture lacks has no
// effect on its filter.
#include <asm/termbits.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/f2fs.h>
#include <linux/nsfs.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <csignal>
#include <initializer_list>
#include <iterator>
#include <span>

#include "hook/confinement/lists/phases.h"

namespace hook::confinement {
namespace {

// ---- every phase -------------------------------------------------------------------------------

constexpr std::string_view kBasics[] = {
    // memory
    "brk", "madvise", "mremap", "munmap",
    // this process
    "exit", "exit_group", "futex", "getegid", "geteuid", "getgid", "getpid", "getppid", "getrandom",
    "getrlimit", "gettid", "getuid", "sched_getaffinity", "sched_yield", "set_robust_list",
    "sysinfo", "uname", "capget",
    // signals to itself
    "restart_syscall", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
    // time and waiting
    "clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday", "nanosleep", "time", "poll",
    "ppoll", "pselect6", "select", "signalfd4",
    // open files
    "close", "dup", "fadvise64", "fallocate", "fdatasync", "fgetxattr", "flock", "fstat", "fstatfs",
    "fsync", "ftruncate", "getdents64", "lseek", "pread64", "preadv", "pwrite64", "pwritev", "read",
    "readv", "write", "writev",
    // paths
    "access", "chdir", "faccessat", "faccessat2", "getcwd", "lstat", "newfstatat", "open", "openat",
    "openat2", "readlink", "readlinkat", "stat", "statfs", "statx",
    // changing the files of the toolkit
    "chmod", "chown", "fchmod", "fchmodat", "fchown", "fchownat", "link", "linkat", "mkdir",
    "mkdirat", "rename", "renameat", "renameat2", "rmdir", "symlink", "symlinkat", "umask",
    "unlink", "unlinkat", "utimensat",
    // sockets: netlink, syslog
    "bind", "connect", "getpeername", "getsockname", "getsockopt", "recvfrom", "recvmsg", "sendmsg",
    "sendto", "setsockopt", "shutdown", "socketpair"};

using Rules = std::vector<Rule>;

void allow(Rules& rules, std::span<const std::string_view> calls) {
  for (const std::string_view call : calls) rules.push_back({call});
}

// Allows CALL with one of VALUES as its argument INDEX.
void allow_values(Rules& rules, std::string_view call, unsigned index,
                  std::initializer_list<uint64_t> values) {
  for (const uint64_t value : values) rules.push_back({call, {{index, value}}});
}

// Allows CALL where the bits of MASK in its argument INDEX are not set.
void allow_without(Rules& rules, std::string_view call, unsigned index, uint64_t mask) {
  rules.push_back({call, {{index, 0, mask}}});
}

constexpr uint64_t kSocketType = ~uint64_t{SOCK_CLOEXEC | SOCK_NONBLOCK};

void allow_basics(Rules& rules) {
  allow(rules, kBasics);
  // The kernel sees a system call of -1 where a tracer, such as a debugger, skips one.
  rules.push_back({"-1"});
  allow_values(rules, "fcntl", 1,
               {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK,
                F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW});
  // The last ones: isatty(), the size of a terminal, and SQLite on F2FS.
  allow_values(rules, "ioctl", 1,
               {FIONBIO, FIONREAD, NS_GET_NSTYPE, NS_GET_USERNS, NS_GET_PARENT, NS_GET_OWNER_UID,
                TCGETS, TCGETS2, TIOCGWINSZ, F2FS_IOC_GET_FEATURES, F2FS_IOC_START_ATOMIC_WRITE,
                F2FS_IOC_COMMIT_ATOMIC_WRITE, F2FS_IOC_ABORT_ATOMIC_WRITE});
  allow_values(rules, "prctl", 0, {PR_CAPBSET_READ, PR_GET_NAME, PR_SET_NAME, PR_SET_VMA});
  // The limits of this process.
  allow_values(rules, "prlimit64", 0, {0});
  rules.push_back({"setrlimit"});
  // abort(), and the end after a forbidden call.
  allow_values(rules, "tgkill", 2, {SIGABRT, SIGSYS});
  allow_values(rules, "socket", 0, {AF_UNIX, AF_NETLINK});
  // The network namespace of a container, for a moment, and back.
  allow_values(rules, "setns", 1, {CLONE_NEWNET});
}

// ---- phases that run no other program ----------------------------------------------------------

// Memory that is never executable.
void allow_data_in_memory(Rules& rules) {
  allow_without(rules, "mmap", 2, PROT_EXEC);
  allow_without(rules, "mprotect", 2, PROT_EXEC);
}

// Whoever takes over the process cannot keep it alive past a forbidden call.
void keep_handler(Rules& rules) {
  // By equality: the kernel ignores the upper half of the number, a comparison does not.
  for (uint64_t signal = 1; signal <= 64; ++signal) {
    if (signal != SIGSYS) rules.push_back({"rt_sigaction", {{0, signal}}});
  }
}

void allow_packets(Rules& rules) { allow_values(rules, "socket", 0, {AF_PACKET}); }

// eBPF programs and maps of the border.
void allow_tc(Rules& rules) {
  allow_values(rules, "bpf", 0,
               {BPF_MAP_CREATE, BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM,
                BPF_MAP_GET_NEXT_KEY, BPF_PROG_LOAD, BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID,
                BPF_OBJ_GET_INFO_BY_FD});
}

// ---- the door of ipu-agent
// -----------------------------------------------------------------------

// It has its sockets, and makes or opens nothing.
constexpr std::string_view kAtTheDoor[] = {
    "accept4",      "brk",     "clock_gettime",   "clock_nanosleep",
    "close",        "exit",    "exit_group",      "fstat",
    "futex",        "getpid",  "getrandom",       "getsockname",
    "getsockopt",   "gettid",  "madvise",         "mremap",
    "munmap",       "poll",    "ppoll",           "read",
    "recvfrom",     "recvmsg", "restart_syscall", "rt_sigprocmask",
    "rt_sigreturn", "sendmsg", "sendto",          "write",
    "writev"};

void allow_door(Rules& rules) {
  allow(rules, kAtTheDoor);
  rules.push_back({"-1"});
  allow_values(rules, "tgkill", 2, {SIGABRT, SIGSYS});
  allow_data_in_memory(rules);
  keep_handler(rules);
}

// ---- phases that run ipu-vipu-client -----------------------------------------------------------

// A child process that becomes another user and another program. The calls after execve are of that
// program, its loader and gRPC: it confines itself further, and a filter that it loads can only
// take away.
constexpr std::string_view kToRun[] = {
    // becoming it
    "capset", "close_range", "dup2", "dup3", "execve", "pipe2", "setgroups", "setresgid",
    "setresuid", "setsid", "vfork", "wait4", "waitid", "pidfd_open",
    // ending a child; the client is another user's, so that needs CAP_KILL too
    "kill",
    // being it
    "arch_prctl", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2",
    "get_robust_list", "getcpu", "landlock_add_rule", "landlock_create_ruleset",
    "landlock_restrict_self", "membarrier", "mmap", "mprotect", "rseq", "sched_getparam",
    "sched_getscheduler", "seccomp", "sendmmsg", "set_tid_address"};

void allow_programs(Rules& rules) {
  allow(rules, kToRun);
  constexpr uint64_t kNamespaces = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
                                   CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;
  allow_without(rules, "clone", 0, kNamespaces);
  // In which the program's own limits count it alone (base/confine.h).
  allow_values(rules, "unshare", 0, {CLONE_NEWUSER});
  allow_values(rules, "prctl", 0,
               {PR_CAPBSET_DROP, PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS,
                PR_SET_PDEATHSIG, PR_SET_SECCOMP});
  allow_values(rules, "tgkill", 2, {SIGKILL, SIGTERM});
  // ipuctl fleet beat: the containers of a host that was fenced.
  allow_values(rules, "pidfd_send_signal", 1, {SIGKILL, SIGTERM});
}

// The connection to a controller; with TLS, and to resolve its name, the client makes it.
void allow_connections(Rules& rules) {
  struct Kind {
    uint64_t type;
    uint64_t protocol;
  };
  constexpr Kind kKinds[] = {
      {SOCK_STREAM, 0}, {SOCK_STREAM, IPPROTO_TCP}, {SOCK_DGRAM, 0}, {SOCK_DGRAM, IPPROTO_UDP}};
  for (const uint64_t family : {uint64_t{AF_INET}, uint64_t{AF_INET6}}) {
    for (const Kind& kind : kKinds) {
      rules.push_back({"socket", {{0, family}, {1, kind.type, kSocketType}, {2, kind.protocol}}});
    }
  }
}

// ipu-vipu-endpoint: a socket that listens for it, the container's end that it watches, and being
// it.
constexpr std::string_view kToServe[] = {"accept4", "listen", "setpriority"};

// Handles of network namespaces, and a sysfs that shows one.
void allow_handles(Rules& rules) {
  allow_values(rules, "mount", 3, {MS_BIND, MS_PRIVATE});
  allow_values(rules, "umount2", 1, {MNT_DETACH | UMOUNT_NOFOLLOW});
  allow_values(rules, "fsconfig", 1, {FSCONFIG_CMD_CREATE});
  rules.push_back({"fsopen"});
  rules.push_back({"fsmount"});
}

// ---- a start without the wrapper ---------------------------------------------------------------

// Devices and mounts of a container.
void allow_injection(Rules& rules) {
  allow_values(rules, "setns", 1, {CLONE_NEWNS});
  rules.push_back({"mknodat", {{2, S_IFCHR, S_IFMT}}});
  for (const std::string_view call : {"open_tree", "mount_setattr", "move_mount"}) {
    rules.push_back({call});
  }
  allow_values(rules, "bpf", 0, {BPF_PROG_QUERY, BPF_PROG_ATTACH});
  // The limit of another process: the container's first one.
  allow_values(rules, "prlimit64", 1, {RLIMIT_MEMLOCK});
}

bool runs_client(Phase phase) {
  return phase == Phase::kLease || phase == Phase::kAlone || phase == Phase::kAgent;
}

}  // namespace

std::vector<Rule> allowed_calls(Phase phase) {
  Rules rules;
  if (phase == Phase::kDoor) {
    allow_door(rules);
    return rules;
  }
  allow_basics(rules);
  const bool runs_programs = runs_client(phase);
  if (!runs_programs) allow_data_in_memory(rules);
  if (runs_programs) allow_programs(rules);
  if (runs_programs) allow_connections(rules);
  if (runs_programs) allow_handles(rules);
  if (runs_programs) allow(rules, kToServe);
  if (phase != Phase::kProbe && phase != Phase::kLook) allow_tc(rules);
  if (phase == Phase::kProbe || phase == Phase::kAlone) allow_packets(rules);
  if (phase == Phase::kAlone) allow_injection(rules);
  // A program of ours that these phases start sets a handler of its own.
  const bool starts_ours = phase == Phase::kAlone || phase == Phase::kAgent;
  if (starts_ours) rules.push_back({"rt_sigaction"});
  if (!starts_ours) keep_handler(rules);
  return rules;
}

std::vector<AbsentCall> absent_calls(Phase phase) {
  // glibc and libstdc++ do without these.
  std::vector<AbsentCall> absent = {{"clone3", 435},
                                    {"copy_file_range"},
                                    {"epoll_pwait2", 441},
                                    {"fchmodat2", 452},
                                    {"futex_requeue", 456},
                                    {"futex_wait", 455},
                                    {"futex_waitv", 449},
                                    {"futex_wake", 454},
                                    {"preadv2"},
                                    {"pwritev2"},
                                    {"sendfile"}};
  if (!runs_client(phase)) return absent;
  // gRPC, OpenSSL, or a loader of another version than the one that was tried.
  const AbsentCall kOfPrograms[] = {{"cachestat", 451},
                                    {"get_mempolicy"},
                                    {"getitimer"},
                                    {"getpgid"},
                                    {"getpgrp"},
                                    {"getpriority"},
                                    {"getrusage"},
                                    {"getsid"},
                                    {"inotify_add_watch"},
                                    {"inotify_init1"},
                                    {"map_shadow_stack", 453},
                                    {"mbind"},
                                    {"memfd_create"},
                                    {"mincore"},
                                    {"mlock"},
                                    {"mlock2"},
                                    {"mseal", 462},
                                    {"munlock"},
                                    {"pkey_alloc"},
                                    {"pkey_free"},
                                    {"pkey_mprotect"},
                                    {"process_madvise", 440},
                                    {"recvmmsg"},
                                    {"sched_getattr"},
                                    {"sched_setaffinity"},
                                    {"set_mempolicy"},
                                    {"set_mempolicy_home_node", 450},
                                    {"setitimer"},
                                    {"timerfd_create"},
                                    {"timerfd_settime"},
                                    {"times"}};
  absent.insert(absent.end(), std::begin(kOfPrograms), std::end(kOfPrograms));
  return absent;
}

}  // namespace hook::confinement
