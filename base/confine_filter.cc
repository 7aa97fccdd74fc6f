// SPDX-License-Identifier: Apache-2.0
#include "base/confine_filter.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <memory>
#include <type_traits>

#include "base/text.h"

namespace base {
namespace {

// SCMP_SYS is negative for a call that the architecture lacks; its rule then has no effect.
constexpr int kAllowed[] = {
    // memory
    SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(mremap), SCMP_SYS(munmap),
    // itself
    SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(futex), SCMP_SYS(getcpu), SCMP_SYS(getpid),
    SCMP_SYS(getppid), SCMP_SYS(gettid), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_yield),
    // signals to itself
    SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    // time
    SCMP_SYS(clock_getres), SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep), SCMP_SYS(time),
    // open files, and reading what a path names
    SCMP_SYS(access), SCMP_SYS(close), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(fstat),
    SCMP_SYS(getdents64), SCMP_SYS(lseek), SCMP_SYS(lstat), SCMP_SYS(newfstatat), SCMP_SYS(pread64),
    SCMP_SYS(read), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(readv), SCMP_SYS(stat),
    SCMP_SYS(statx), SCMP_SYS(write), SCMP_SYS(writev),
    // sockets
    SCMP_SYS(getpeername), SCMP_SYS(getsockname), SCMP_SYS(getsockopt), SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg), SCMP_SYS(shutdown),
    // waiting; a sanitizer uses pipe2 to find out what memory it can read
    SCMP_SYS(pipe2), SCMP_SYS(poll), SCMP_SYS(ppoll),
    // facts
    SCMP_SYS(getegid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getrandom),
    SCMP_SYS(getrlimit), SCMP_SYS(getuid), SCMP_SYS(sysinfo), SCMP_SYS(uname)};

constexpr int kForThreads[] = {
    SCMP_SYS(epoll_create1),      SCMP_SYS(epoll_ctl),      SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_wait),         SCMP_SYS(eventfd2),       SCMP_SYS(get_robust_list),
    SCMP_SYS(membarrier),         SCMP_SYS(rseq),           SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler), SCMP_SYS(set_robust_list)};

// What a program with sockets of its own needs.
constexpr int kForOwnSockets[] = {SCMP_SYS(bind), SCMP_SYS(connect), SCMP_SYS(setsockopt)};

constexpr int kKilled[] = {
    // programs and processes; load_filter() handles clone
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork),
    // other processes
    SCMP_SYS(kill), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(process_madvise), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(ptrace), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(tkill),
    // users and capabilities
    SCMP_SYS(capset), SCMP_SYS(setfsgid), SCMP_SYS(setfsuid), SCMP_SYS(setgid), SCMP_SYS(setgroups),
    SCMP_SYS(setregid), SCMP_SYS(setresgid), SCMP_SYS(setresuid), SCMP_SYS(setreuid),
    SCMP_SYS(setuid),
    // mounts and namespaces
    SCMP_SYS(chroot), SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fsopen), SCMP_SYS(fspick),
    SCMP_SYS(mount), SCMP_SYS(mount_setattr), SCMP_SYS(move_mount), SCMP_SYS(open_by_handle_at),
    SCMP_SYS(open_tree), SCMP_SYS(pivot_root), SCMP_SYS(setns), SCMP_SYS(umount2),
    SCMP_SYS(unshare),
    // the kernel
    SCMP_SYS(add_key), SCMP_SYS(bpf), SCMP_SYS(finit_module), SCMP_SYS(init_module),
    SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(io_uring_setup),
    SCMP_SYS(kexec_load), SCMP_SYS(keyctl), SCMP_SYS(perf_event_open), SCMP_SYS(personality),
    SCMP_SYS(request_key), SCMP_SYS(userfaultfd)};

using Argument = scmp_arg_cmp;

Argument equals(unsigned index, uint64_t value) { return {index, SCMP_CMP_EQ, value, 0}; }

// Returns a condition: the bits of MASK are as in VALUE.
Argument has_bits(unsigned index, uint64_t mask, uint64_t value) {
  return {index, SCMP_CMP_MASKED_EQ, mask, value};
}

// Adds rules until one fails, and keeps that error.
class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), &seccomp_release) {
    if (context_ == nullptr) error_ = ENOMEM;
    set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    constexpr uint32_t kBinaryTree = 2;  // fewer comparisons per call than a list
    set(SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree);
  }

  void allow(int call, std::initializer_list<Argument> where = {}) {
    add(SCMP_ACT_ALLOW, call, where);
  }
  void kill(int call, std::initializer_list<Argument> where = {}) {
    add(SCMP_ACT_KILL_PROCESS, call, where);
  }

  // Allows CALL with one of VALUES as its argument INDEX.
  void allow_values(int call, unsigned index, std::initializer_list<uint64_t> values) {
    for (const uint64_t value : values) allow(call, {equals(index, value)});
  }

  Status load() {
    if (error_ != 0) return Error::from_errno(error_, "build the seccomp filter");
    const int result = seccomp_load(context_.get());
    if (result != 0) return Error::from_errno(-result, "load the seccomp filter");
    return {};
  }

 private:
  void set(scmp_filter_attr attribute, uint32_t value) {
    if (error_ == 0) error_ = -seccomp_attr_set(context_.get(), attribute, value);
  }
  void add(uint32_t action, int call, std::initializer_list<Argument> where) {
    if (error_ != 0) return;
    error_ = -seccomp_rule_add_array(context_.get(), action, call,
                                     static_cast<unsigned>(where.size()), where.begin());
  }

  std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, decltype(&seccomp_release)> context_;
  int error_ = 0;
};

// For a service of gRPC. The flags of clone are its first argument on x86_64 and aarch64.
void add_thread_rules(Filter& filter) {
  constexpr uint64_t kNamespaces = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
                                   CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;
  filter.allow(SCMP_SYS(clone), {has_bits(0, CLONE_THREAD | kNamespaces, CLONE_THREAD)});
  filter.kill(SCMP_SYS(clone), {has_bits(0, CLONE_THREAD, 0)});
  for (const int call : kForThreads) filter.allow(call);
}

void add_own_rules(Filter& filter) {
  filter.allow(SCMP_SYS(tgkill), {equals(0, static_cast<uint64_t>(::getpid()))});
  filter.allow_values(SCMP_SYS(prctl), 0, {PR_SET_NAME, PR_GET_NAME});
  // Allows the process to read its limits, not to set them.
  filter.allow(SCMP_SYS(prlimit64), {equals(0, 0), equals(2, 0)});
}

void add_memory_rules(Filter& filter) {
  filter.allow(SCMP_SYS(mmap), {has_bits(2, PROT_EXEC, 0)});
  filter.allow(SCMP_SYS(mprotect), {has_bits(2, PROT_EXEC, 0)});
}

void add_reading_rules(Filter& filter) {
  // O_TMPFILE, which also makes a file, is covered: it requires write access.
  constexpr uint64_t kWriting = O_ACCMODE | O_CREAT | O_TRUNC;
  filter.allow(SCMP_SYS(open), {has_bits(1, kWriting, O_RDONLY)});
  filter.allow(SCMP_SYS(openat), {has_bits(2, kWriting, O_RDONLY)});
}

void add_descriptor_rules(Filter& filter) {
  // F_SETOWN and FIOSETOWN stay forbidden, because they send signals to others.
  filter.allow_values(SCMP_SYS(fcntl), 1, {F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL});
  filter.allow_values(SCMP_SYS(ioctl), 1, {FIONBIO, FIONREAD});
}

// Allows sending, but not with the flag that connects. The kernel takes the flags of the call
// alone, not those in its messages.
void add_send_rules(Filter& filter) {
  const auto allow = [&](int call, unsigned flags) {
    filter.allow(call, {has_bits(flags, MSG_FASTOPEN, 0)});
  };
  allow(SCMP_SYS(sendmsg), 2);
  allow(SCMP_SYS(sendmmsg), 3);
  allow(SCMP_SYS(sendto), 3);
}

void add_socket_rules(Filter& filter) {
  for (const int call : kForOwnSockets) filter.allow(call);
  struct Kind {
    int type;
    int protocol;
  };
  constexpr Kind kKinds[] = {{SOCK_STREAM, IPPROTO_TCP}, {SOCK_DGRAM, IPPROTO_UDP}};
  constexpr uint64_t kType = ~uint64_t{SOCK_CLOEXEC | SOCK_NONBLOCK};
  for (const uint64_t family : {uint64_t{AF_INET}, uint64_t{AF_INET6}}) {
    for (const Kind& kind : kKinds) {
      const Argument type = has_bits(1, kType, static_cast<uint64_t>(kind.type));
      filter.allow(SCMP_SYS(socket), {equals(0, family), type, equals(2, 0)});
      filter.allow(SCMP_SYS(socket),
                   {equals(0, family), type, equals(2, static_cast<uint64_t>(kind.protocol))});
    }
  }
}

}  // namespace

Status load_filter(Sockets sockets) {
  Filter filter;
  for (const int call : kAllowed) filter.allow(call);
  for (const int call : kKilled) filter.kill(call);
  add_own_rules(filter);
  add_memory_rules(filter);
  add_descriptor_rules(filter);
  if (sockets != Sockets::kAccepted) add_reading_rules(filter);
  add_send_rules(filter);
  if (sockets == Sockets::kOwn) add_socket_rules(filter);
  if (sockets == Sockets::kAccepted) {
    filter.allow(SCMP_SYS(accept4));
    add_thread_rules(filter);
  } else {
    filter.kill(SCMP_SYS(clone));
  }
  return filter.load();
}

}  // namespace base
