// SPDX-License-Identifier: Apache-2.0
// What a confined process is, as the kernel shows it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/unit/confine/child.h"

namespace test {
namespace {

constexpr int kPatience = 10'000;  // milliseconds

// Whether a line of /proc/self/status is FIELD with VALUE.
std::function<int()> has_status(const std::string& field, const std::string& value) {
  return [line = base::str("\n", field, ":\t", value, "\n")] {
    const base::Result<std::string> text = base::read_file("/proc/self/status", 65536);
    return text.ok() && text.value().find(line) != std::string::npos ? 0 : 1;
  };
}

TEST(Confine, SetsAFilterAndNoNewPrivileges) {
  EXPECT_EQ(confined(has_status("Seccomp", "2")), kFine);
  EXPECT_EQ(confined(has_status("NoNewPrivs", "1")), kFine);
}

TEST(Confine, LetsNobodyElseReadWhatItWrites) {
  EXPECT_EQ(confined(has_status("Umask", "0077")), kFine);
}

TEST(Confine, LeavesNoCapabilities) {
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_EQ(confined(has_status(set, "0000000000000000")), kFine) << set;
  }
}

TEST(Confine, LeavesNoCapabilitiesToRoot) {
  REQUIRES_ROOT();
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    const std::function<int()> is_empty = has_status(set, "0000000000000000");
    const pid_t root = start_child([&] {
      (void)::alarm(30);
      return base::confine().ok() ? is_empty() : kNotConfined;
    });
    EXPECT_EQ(wait_for(root), kFine) << set;
  }
}

TEST(Confine, SetsHardLimits) {
  struct Expected {
    __rlimit_resource resource;
    rlim_t most;
  };
  const base::Limits defaults;
  for (const Expected& expected :
       {Expected{RLIMIT_CORE, 0}, Expected{RLIMIT_FSIZE, 0}, Expected{RLIMIT_DATA, defaults.data},
        Expected{RLIMIT_NOFILE, defaults.descriptors}, Expected{RLIMIT_NPROC, defaults.tasks}}) {
    EXPECT_EQ(confined([&] {
                rlimit now{};
                if (::getrlimit(expected.resource, &now) != 0) return errno;
                return now.rlim_cur <= expected.most && now.rlim_max == now.rlim_cur ? 0 : 1;
              }),
              kFine)
        << expected.resource;
  }
}

// The tasks of PROBE's user elsewhere, such as in a container.
class Crowd {
 public:
  explicit Crowd(size_t tasks) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const base::Fd says(ready[0]);
    pid_ = start_child([&] {
      become_nobody();
      std::vector<std::thread> threads;
      for (size_t i = 0; i < tasks; ++i) threads.emplace_back([] { (void)::pause(); });
      (void)!::write(ready[1], "x", 1);
      return ::pause();
    });
    (void)::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(says.get(), &byte, 1), 1);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    (void)::kill(pid_, SIGKILL);
    (void)wait_for(pid_);
  }

 private:
  pid_t pid_ = -1;
};

// Whether as many threads can be made.
int make_threads(size_t count) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    try {
      threads.emplace_back([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
    } catch (const std::system_error& error) {
      ::_exit(error.code().value());
    }
  }
  ::_exit(0);
}

TEST(Confine, CountsItsTasksApartFromOthersOfItsUser) {
  REQUIRES_ROOT();
  constexpr size_t kTasks = 100;
  const Crowd crowd(2 * kTasks);
  EXPECT_EQ(unconfined([] {
              const rlimit most{kTasks, kTasks};
              if (::setrlimit(RLIMIT_NPROC, &most) != 0) return kNotConfined;
              return make_threads(1);
            }),
            (Ending{EAGAIN, 0}));
  base::Limits limits;
  limits.tasks = kTasks;
  const base::Network service{.own_sockets = false, .service = base::Service::kAccepts};
  EXPECT_EQ(confined([] { return make_threads(kTasks - 1); }, limits, service), kFine);
  EXPECT_EQ(confined([] { return make_threads(kTasks); }, limits, service), (Ending{EAGAIN, 0}));
}

// A child that says that it is ready and then waits for the end of its input, and the other ends.
class WaitingChild {
 public:
  explicit WaitingChild(const std::function<bool()>& prepare) {
    int ready[2];
    int go[2];
    EXPECT_TRUE(::pipe2(ready, O_CLOEXEC) == 0 && ::pipe2(go, O_CLOEXEC) == 0);
    ready_.reset(ready[0]);
    go_.reset(go[1]);
    pid_ = start_child([&] {
      (void)::close(go[1]);
      become_nobody();
      char byte = 0;
      if (!prepare() || ::write(ready[1], "x", 1) != 1) return kNotConfined;
      return errno_of(::read(go[0], &byte, 1));
    });
    (void)::close(ready[1]);
    (void)::close(go[0]);
    char byte = 0;
    EXPECT_EQ(::read(ready_.get(), &byte, 1), 1);
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;
  ~WaitingChild() {
    go_.reset();
    EXPECT_EQ(wait_for(pid_), kFine);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  base::Fd ready_;
  base::Fd go_;
  pid_t pid_ = -1;
};

// Of /proc/PID what only the owner may read belongs to root when the process is not dumpable.
TEST(Confine, HidesTheProcessFromOthersOfItsUser) {
  const WaitingChild open([] { return true; });
  const WaitingChild hidden([] { return base::confine().ok(); });
  const auto look_at = [](pid_t pid) {
    return [path = base::str("/proc/", pid, "/environ")] {
      return errno_of(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    };
  };
  EXPECT_EQ(unconfined(look_at(open.pid())), kFine);
  EXPECT_EQ(unconfined(look_at(hidden.pid())), (Ending{EACCES, 0}));
}

TEST(Confine, EndsTheProcessWithItsParent) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const base::Fd from_child(pipe[0]);
  const pid_t parent = start_child([&] {
    const pid_t child = start_child([&] {
      if (!base::confine().ok() || ::write(pipe[1], "x", 1) != 1) return kNotConfined;
      return ::poll(nullptr, 0, kPatience);
    });
    (void)::close(pipe[1]);
    return wait_for(child).status;
  });
  (void)::close(pipe[1]);
  char byte = 0;
  ASSERT_EQ(::read(from_child.get(), &byte, 1), 1);
  ASSERT_EQ(::kill(parent, SIGKILL), 0);
  EXPECT_EQ(wait_for(parent).signal, SIGKILL);
  // End of file before the child's own end: it is gone.
  pollfd waiter{from_child.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&waiter, 1, kPatience / 2), 1);
  EXPECT_EQ(::read(from_child.get(), &byte, 1), 0);
}

TEST(Confine, RefusesAProcessWithAnotherThread) {
  const pid_t pid = start_child([] {
    (void)::alarm(30);
    std::thread([] {
      ::_exit(fails(base::confine(), base::Code::kInternal, "more than one thread") ? 0 : 1);
    }).join();
    return 2;
  });
  EXPECT_EQ(wait_for(pid), kFine);
}

}  // namespace
}  // namespace test
