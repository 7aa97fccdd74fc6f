// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/effects.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace fault {
namespace {

using base::str;

enum class Kind {
  kNone,      // no effect outside the process
  kEffect,    // an effect
  kByFlags1,  // open(2): an effect if its flags, argument 1, make or truncate a file
  kByFlags2,  // openat(2): the same with argument 2
  kByLock,    // fcntl(2): an effect if it takes or drops a lock
  kByShare,   // mmap(2): an effect if it makes a file writable as memory
  kBySignal,  // kill(2): an effect unless it only asks
};

// What the arguments of a call are about.
enum class About { kNothing, kFd, kPath, kPathAt };

struct Row {
  uint64_t number;
  const char* name;
  Kind kind;
  About about;
};

#define CALL(name, kind, about) \
  { SYS_##name, #name, Kind::kind, About::about }

constexpr Row kRows[] = {
    // Reading and waiting.
    CALL(read, kNone, kFd),
    CALL(pread64, kNone, kFd),
    CALL(readv, kNone, kFd),
    CALL(preadv, kNone, kFd),
    CALL(lseek, kNone, kFd),
    CALL(stat, kNone, kPath),
    CALL(lstat, kNone, kPath),
    CALL(fstat, kNone, kFd),
    CALL(newfstatat, kNone, kPathAt),
    CALL(statx, kNone, kPathAt),
    CALL(statfs, kNone, kPath),
    CALL(fstatfs, kNone, kFd),
    CALL(access, kNone, kPath),
    CALL(faccessat, kNone, kPathAt),
    CALL(faccessat2, kNone, kPathAt),
    CALL(readlink, kNone, kPath),
    CALL(readlinkat, kNone, kPathAt),
    CALL(getdents64, kNone, kFd),
    CALL(getcwd, kNone, kNothing),
    CALL(poll, kNone, kNothing),
    CALL(ppoll, kNone, kNothing),
    CALL(select, kNone, kNothing),
    CALL(pselect6, kNone, kNothing),
    CALL(epoll_create1, kNone, kNothing),
    CALL(epoll_ctl, kNone, kNothing),
    CALL(epoll_wait, kNone, kNothing),
    CALL(epoll_pwait, kNone, kNothing),
    CALL(recvfrom, kNone, kFd),
    CALL(recvmsg, kNone, kFd),
    CALL(recvmmsg, kNone, kFd),
    CALL(getsockname, kNone, kFd),
    CALL(getpeername, kNone, kFd),
    CALL(getsockopt, kNone, kFd),
    CALL(wait4, kNone, kNothing),
    CALL(waitid, kNone, kNothing),
    CALL(nanosleep, kNone, kNothing),
    CALL(clock_nanosleep, kNone, kNothing),
    CALL(clock_gettime, kNone, kNothing),
    CALL(clock_getres, kNone, kNothing),
    CALL(gettimeofday, kNone, kNothing),
    CALL(time, kNone, kNothing),
    CALL(uname, kNone, kNothing),
    CALL(sysinfo, kNone, kNothing),
    CALL(getrandom, kNone, kNothing),
    CALL(getrusage, kNone, kNothing),
    CALL(times, kNone, kNothing),
    // The process itself: its memory, descriptors, signals, limits and credentials.
    CALL(brk, kNone, kNothing),
    CALL(munmap, kNone, kNothing),
    CALL(mremap, kNone, kNothing),
    CALL(mprotect, kNone, kNothing),
    CALL(madvise, kNone, kNothing),
    CALL(membarrier, kNone, kNothing),
    CALL(close, kNone, kFd),
    CALL(close_range, kNone, kNothing),
    CALL(dup, kNone, kFd),
    CALL(dup2, kNone, kFd),
    CALL(dup3, kNone, kFd),
    CALL(pipe, kNone, kNothing),
    CALL(pipe2, kNone, kNothing),
    CALL(eventfd2, kNone, kNothing),
    CALL(memfd_create, kNone, kNothing),
    CALL(timerfd_create, kNone, kNothing),
    CALL(timerfd_settime, kNone, kNothing),
    CALL(pidfd_open, kNone, kNothing),
    CALL(socket, kNone, kNothing),
    CALL(socketpair, kNone, kNothing),
    CALL(setsockopt, kNone, kFd),
    CALL(rt_sigaction, kNone, kNothing),
    CALL(rt_sigprocmask, kNone, kNothing),
    CALL(rt_sigreturn, kNone, kNothing),
    CALL(rt_sigtimedwait, kNone, kNothing),
    CALL(sigaltstack, kNone, kNothing),
    CALL(futex, kNone, kNothing),
    CALL(set_robust_list, kNone, kNothing),
    CALL(set_tid_address, kNone, kNothing),
    CALL(rseq, kNone, kNothing),
    CALL(arch_prctl, kNone, kNothing),
    CALL(prctl, kNone, kNothing),
    CALL(seccomp, kNone, kNothing),
    CALL(restart_syscall, kNone, kNothing),
    CALL(sched_yield, kNone, kNothing),
    CALL(sched_getaffinity, kNone, kNothing),
    CALL(getpid, kNone, kNothing),
    CALL(gettid, kNone, kNothing),
    CALL(getppid, kNone, kNothing),
    CALL(getuid, kNone, kNothing),
    CALL(geteuid, kNone, kNothing),
    CALL(getgid, kNone, kNothing),
    CALL(getegid, kNone, kNothing),
    CALL(getgroups, kNone, kNothing),
    CALL(setgroups, kNone, kNothing),
    CALL(setresuid, kNone, kNothing),
    CALL(setresgid, kNone, kNothing),
    CALL(capget, kNone, kNothing),
    CALL(capset, kNone, kNothing),
    CALL(setsid, kNone, kNothing),
    CALL(setpriority, kNone, kNothing),
    CALL(getpgrp, kNone, kNothing),
    CALL(chdir, kNone, kPath),
    CALL(fchdir, kNone, kFd),
    CALL(umask, kNone, kNothing),
    CALL(prlimit64, kNone, kNothing),
    CALL(getrlimit, kNone, kNothing),
    CALL(setrlimit, kNone, kNothing),
    CALL(exit, kNone, kNothing),
    CALL(exit_group, kNone, kNothing),
    // By their arguments.
    CALL(open, kByFlags1, kPath),
    CALL(openat, kByFlags2, kPathAt),
    CALL(fcntl, kByLock, kFd),
    CALL(mmap, kByShare, kNothing),
    CALL(kill, kBySignal, kNothing),
    // Effects: named for the reports.
    CALL(openat2, kEffect, kPathAt),
    CALL(creat, kEffect, kPath),
    CALL(write, kEffect, kFd),
    CALL(pwrite64, kEffect, kFd),
    CALL(writev, kEffect, kFd),
    CALL(pwritev, kEffect, kFd),
    CALL(ftruncate, kEffect, kFd),
    CALL(truncate, kEffect, kPath),
    CALL(fallocate, kEffect, kFd),
    CALL(fsync, kEffect, kFd),
    CALL(fdatasync, kEffect, kFd),
    CALL(msync, kEffect, kNothing),
    CALL(flock, kEffect, kFd),
    CALL(rename, kEffect, kPath),
    CALL(renameat, kEffect, kPathAt),
    CALL(renameat2, kEffect, kPathAt),
    CALL(unlink, kEffect, kPath),
    CALL(unlinkat, kEffect, kPathAt),
    CALL(mkdir, kEffect, kPath),
    CALL(mkdirat, kEffect, kPathAt),
    CALL(rmdir, kEffect, kPath),
    CALL(link, kEffect, kPath),
    CALL(linkat, kEffect, kPathAt),
    CALL(symlink, kEffect, kPath),
    CALL(symlinkat, kEffect, kPath),
    CALL(mknod, kEffect, kPath),
    CALL(mknodat, kEffect, kPathAt),
    CALL(chmod, kEffect, kPath),
    CALL(fchmod, kEffect, kFd),
    CALL(fchmodat, kEffect, kPathAt),
    CALL(chown, kEffect, kPath),
    CALL(fchown, kEffect, kFd),
    CALL(fchownat, kEffect, kPathAt),
    CALL(utimensat, kEffect, kPathAt),
    CALL(ioctl, kEffect, kFd),
    CALL(bind, kEffect, kFd),
    CALL(listen, kEffect, kFd),
    CALL(connect, kEffect, kFd),
    CALL(shutdown, kEffect, kFd),
    CALL(sendto, kEffect, kFd),
    CALL(sendmsg, kEffect, kFd),
    CALL(sendmmsg, kEffect, kFd),
    CALL(sendfile, kEffect, kFd),
    CALL(execve, kEffect, kPath),
    CALL(fork, kEffect, kNothing),
    CALL(vfork, kEffect, kNothing),
    CALL(clone, kEffect, kNothing),
    CALL(clone3, kEffect, kNothing),
    CALL(tgkill, kEffect, kNothing),
    CALL(pidfd_send_signal, kEffect, kNothing),
    CALL(mount, kEffect, kPath),
    CALL(umount2, kEffect, kPath),
    CALL(fsopen, kEffect, kPath),
    CALL(fsmount, kEffect, kFd),
    CALL(open_tree, kEffect, kPathAt),
    CALL(move_mount, kEffect, kPathAt),
    CALL(mount_setattr, kEffect, kPathAt),
    CALL(setns, kEffect, kFd),
    CALL(unshare, kEffect, kNothing),
};

#undef CALL

const Row* find_row(uint64_t number) {
  const Row* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                      [&](const Row& r) { return r.number == number; });
  return row == std::end(kRows) ? nullptr : row;
}

bool makes_file(uint64_t flags) {
  return (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

bool is_lock(uint64_t command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}

std::string read_string(pid_t pid, uint64_t address) {
  char text[PATH_MAX];
  // To the end of the page, which the string may be the last of, and then of the next one.
  constexpr uint64_t kPage = 4096;
  const uint64_t first = std::min<uint64_t>(sizeof text - 1, kPage - address % kPage);
  const iovec ours{text, sizeof text - 1};
  const iovec theirs[] = {{reinterpret_cast<void*>(address), first},
                          {reinterpret_cast<void*>(address + first),
                           std::min<uint64_t>(kPage, sizeof text - 1 - first)}};
  const ssize_t got = ::process_vm_readv(pid, &ours, 1, theirs, 2, 0);
  text[std::max<ssize_t>(got, 0)] = '\0';
  return base::one_line(text, 200);
}

std::string read_fd(pid_t pid, uint64_t fd) {
  char target[PATH_MAX];
  const std::string path = str("/proc/", pid, "/fd/", static_cast<int>(fd));
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  return std::string(target, static_cast<size_t>(std::max<ssize_t>(length, 0)));
}

std::string subject(pid_t pid, const Call& call, About about) {
  switch (about) {
    case About::kFd:
      return read_fd(pid, call.args[0]);
    case About::kPath:
      return read_string(pid, call.args[0]);
    case About::kPathAt:
      return read_string(pid, call.args[1]);
    case About::kNothing:
      break;
  }
  return "";
}

}  // namespace

bool has_effect(const Call& call) {
  const Row* const row = find_row(call.number);
  switch (row == nullptr ? Kind::kEffect : row->kind) {
    case Kind::kNone:
      return false;
    case Kind::kEffect:
      return true;
    case Kind::kByFlags1:
      return makes_file(call.args[1]);
    case Kind::kByFlags2:
      return makes_file(call.args[2]);
    case Kind::kByLock:
      return is_lock(call.args[1]);
    case Kind::kByShare:
      return (call.args[2] & PROT_WRITE) != 0 && (call.args[3] & MAP_SHARED) != 0;
    case Kind::kBySignal:
      return call.args[1] != 0;
  }
  return true;
}

bool is_send(pid_t pid, const Call& call) {
  constexpr uint64_t kSends[] = {SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg, SYS_sendmmsg};
  if (std::find(std::begin(kSends), std::end(kSends), call.number) == std::end(kSends)) {
    return false;
  }
  return call.args[0] == STDOUT_FILENO || read_fd(pid, call.args[0]).starts_with("socket:");
}

std::string describe(pid_t pid, const Call& call) {
  const Row* const row = find_row(call.number);
  if (row == nullptr) return str("system call ", call.number);
  const std::string what = subject(pid, call, row->about);
  return what.empty() ? std::string(row->name) : str(row->name, " ", what);
}

}  // namespace fault
