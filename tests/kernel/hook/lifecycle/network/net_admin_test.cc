// SPDX-License-Identifier: Apache-2.0
// Who has CAP_NET_ADMIN over a network namespace that belongs to a user namespace of a user
// namespace.
#include "hook/lifecycle/network/net_admin.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <vector>

#include "base/capabilities.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;

// A process that has done WORK, and now does nothing. It ends with this object.
class Sleeper {
 public:
  explicit Sleeper(const std::function<bool()>& work) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const base::Fd ready(ends[0]);
    base::Fd done(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (!work() || ::write(done.get(), "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    done.reset();
    char byte = 0;
    worked_ = ::read(ready.get(), &byte, 1) == 1;
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] bool worked() const { return worked_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string file(const std::string& kind) const {
    return str("/proc/", pid_, "/ns/", kind);
  }

 private:
  pid_t pid_ = -1;
  bool worked_ = false;
};

bool joins(const Sleeper& other, const std::string& kind, int type) {
  const Result<base::Fd> file = base::open_at(AT_FDCWD, other.file(kind), O_RDONLY);
  return file.ok() && ::setns(file.value().get(), type) == 0;
}

bool without_capabilities() {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && base::clear_bounding_set() &&
         base::clear_capabilities();
}

bool writes(const char* file, const char* text) {
  const Result<base::Fd> opened = base::open_at(AT_FDCWD, file, O_WRONLY);
  return opened.ok() && base::write_all(opened.value().get(), text, file).ok();
}

// Enters a new user namespace in which others can be made: its root is the one above.
bool enters_user_namespace() {
  return ::unshare(CLONE_NEWUSER) == 0 && writes("/proc/self/setgroups", "deny") &&
         writes("/proc/self/uid_map", "0 0 1") && writes("/proc/self/gid_map", "0 0 1");
}

class NetAdminTest : public testing::Test {
 protected:
  void SetUp() override { REQUIRES_ROOT(); }
  static std::optional<pid_t> found_in(const Sleeper& owner) {
    const Result<netns::Namespace> network = netns::Namespace::of_process(owner.pid());
    if (!network.ok()) std::abort();
    return find_net_admin(network.value(), owner.pid()).take();
  }

  // A user namespace between the host's and that of the container.
  Sleeper middle_{[] { return enters_user_namespace(); }};
  // The container: its network belongs to its own user namespace. It has no capability left.
  Sleeper container_{[this] {
    return joins(middle_, "user", CLONE_NEWUSER) && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 &&
           without_capabilities();
  }};
};

TEST_F(NetAdminTest, NobodyHasIt) {
  ASSERT_TRUE(middle_.worked() && container_.worked());
  EXPECT_EQ(found_in(container_), std::nullopt);
}

TEST_F(NetAdminTest, AProcessOfTheUserNamespaceInBetweenHasIt) {
  const Sleeper between([this] {
    return joins(middle_, "user", CLONE_NEWUSER) && joins(container_, "net", CLONE_NEWNET);
  });
  ASSERT_TRUE(between.worked());
  EXPECT_EQ(found_in(container_), between.pid());
}

// The container's user namespace was made by root, who needs no capability to have all of them.
TEST_F(NetAdminTest, TheMakerOfTheUserNamespaceHasItWithoutACapability) {
  const Sleeper owned(
      [] { return ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && without_capabilities(); });
  const auto joined_as = [&](uid_t user) {
    return [&owned, user] {
      return joins(owned, "net", CLONE_NEWNET) && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
             base::clear_bounding_set() && ::setresgid(user, user, user) == 0 &&
             ::setresuid(user, user, user) == 0 && base::clear_capabilities();
    };
  };
  ASSERT_TRUE(owned.worked());
  {
    const Sleeper stranger(joined_as(1234));
    ASSERT_TRUE(stranger.worked());
    EXPECT_EQ(found_in(owned), std::nullopt);
  }
  const Sleeper maker(joined_as(0));
  ASSERT_TRUE(maker.worked());
  EXPECT_EQ(found_in(owned), maker.pid());
}

}  // namespace
}  // namespace hook::lifecycle::network
