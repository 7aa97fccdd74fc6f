// SPDX-License-Identifier: Apache-2.0
// Becomes PROGRAM, with its arguments, as a process in which whatever can be inherited is not what
// it usually is: odd_caller PROGRAM ARG...
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

void require(long result, const char* what) {
  if (result >= 0) return;
  std::perror(what);
  std::exit(98);
}

// Engines hand over pipes, sockets and files by number (LISTEN_FDS, _OCI_SYNCPIPE, --preserve-fds).
void open_descriptors() {
  int ends[2];
  require(pipe(ends), "pipe");
  require(dup2(ends[0], 20), "dup2");
  require(dup2(ends[1], 21), "dup2");
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
  require(dup2(ends[0], 300), "dup2");
  const int file = open("/etc/passwd", O_RDONLY);
  require(file, "/etc/passwd");
  require(lseek(file, 7, SEEK_SET), "lseek");
  require(dup2(file, 9), "dup2");
}

void set_signals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigaddset(&blocked, SIGCHLD);
  sigaddset(&blocked, SIGRTMIN + 3);
  require(sigprocmask(SIG_SETMASK, &blocked, nullptr), "sigprocmask");
  require(raise(SIGUSR1), "raise");
  for (const int number : {SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD}) {
    require(signal(number, SIG_IGN) == SIG_ERR ? -1 : 0, "signal");
  }
}

void set_limit(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
  const rlimit limit{.rlim_cur = soft, .rlim_max = hard};
  require(setrlimit(resource, &limit), "setrlimit");
}

void set_process() {
  umask(027);
  set_limit(RLIMIT_NOFILE, 400, 1000);
  set_limit(RLIMIT_CORE, 1, 4096);
  set_limit(RLIMIT_STACK, 4 << 20, 8 << 20);
  set_limit(RLIMIT_MEMLOCK, 32 << 10, 48 << 10);
  set_limit(RLIMIT_CPU, 500, 600);
  require(prctl(PR_SET_PDEATHSIG, SIGUSR1), "PR_SET_PDEATHSIG");
  require(prctl(PR_SET_TIMERSLACK, 123456), "PR_SET_TIMERSLACK");
  require(personality(ADDR_NO_RANDOMIZE), "personality");
  require(setpriority(PRIO_PROCESS, 0, 3), "setpriority");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 98;
  open_descriptors();
  set_signals();
  set_process();
  const char* environment[] = {"A=a b",
                               "EMPTY=",
                               "TWICE=1",
                               "TWICE=2",
                               "no value",
                               "BYTES=\xff\x01\n\xc3\xa9",
                               "LD_PRELOAD=/no/such.so",
                               "LISTEN_FDS=1",
                               "_OCI_SYNCPIPE=20",
                               "NOTIFY_SOCKET=/run/no-such.sock",
                               "IPU_COUNT=3",
                               nullptr};
  execve(argv[1], argv + 1, const_cast<char**>(environment));
  std::perror(argv[1]);
  return 98;
}
