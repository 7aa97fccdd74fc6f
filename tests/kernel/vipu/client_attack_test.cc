// SPDX-License-Identifier: Apache-2.0
// A process of the client's user looks for a way to the client's memory, where the credentials will
// be, from the fork to the end of each run. With any of these ways it keeps what it once got: a
// client that only hides itself is too late.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <new>

#include "base/fs.h"
#include "base/process.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace test {
namespace {

constexpr base::Credentials kUser{64'999, 64'999};  // nobody else's
constexpr int kRuns = 100;

struct Way {
  const char* name;
  bool (*gets_in)(pid_t pid);
};

bool traces(pid_t pid) { return ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0; }

// The kernel asks who may read before it looks for the address, which nothing is at.
bool reads(pid_t pid) {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{nullptr, 1};
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
}

bool opens(pid_t pid) {
  const std::string path = base::str("/proc/", pid, "/mem");
  return base::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)).valid();
}

// A child that tries WAY on every other child of this process, and ends once it got in.
class Attacker {
 public:
  explicit Attacker(const Way& way) {
    void* const page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tries_ = new (page) std::atomic<int>(0);
    const std::string children = base::str("/proc/", ::getpid(), "/task/", ::gettid(), "/children");
    pid_ = ::fork();
    if (pid_ == 0) attack(way, children);
  }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;
  ~Attacker() {
    (void)::kill(pid_, SIGKILL);
    if (!has_ended_) (void)::waitpid(pid_, nullptr, 0);
    (void)::munmap(tries_, 4096);
  }
  // How often it tried so far.
  [[nodiscard]] int tries() const { return tries_->load(); }
  bool got_in() {
    has_ended_ = has_ended_ || ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    return has_ended_;
  }

 private:
  [[noreturn]] void attack(const Way& way, const std::string& children) {
    (void)::alarm(60);
    if (::setgroups(0, nullptr) != 0 || ::setresgid(kUser.gid, kUser.gid, kUser.gid) != 0 ||
        ::setresuid(kUser.uid, kUser.uid, kUser.uid) != 0) {
      (void)::pause();
    }
    for (;;) {
      const std::string text = base::read_file(children, 65536).take();
      for (const std::string_view word : base::split(text, ' ')) {
        const base::Result<pid_t> pid = base::parse_int<pid_t>(word, 2, 1 << 22);
        if (!pid.ok() || pid.value() == ::getpid()) continue;
        tries_->fetch_add(1);
        if (way.gets_in(pid.value())) ::_exit(0);
      }
    }
  }

  std::atomic<int>* tries_ = nullptr;  // shared with the child
  pid_t pid_ = -1;
  bool has_ended_ = false;
};

class ClientAttackTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    REQUIRES_ROOT();
    ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
    const auto program = base::read_file(PROGRAM_DIR "/ipu-vipu-client", size_t{1} << 28);
    ASSERT_TRUE(succeeds(program));
    ASSERT_TRUE(succeeds(base::write_atomic(client_, program.value(), {0755, {}, {}})));
  }

  // Runs the client until an attack has succeeded, at most kRuns times.
  bool is_broken(mode_t mode) {
    EXPECT_EQ(::chmod(client_.c_str(), mode), 0);
    Attacker attacker(GetParam());
    for (int i = 0; i < kRuns && !attacker.got_in(); ++i) {
      const base::Command command{client_, {"ipu-vipu-client", "ask"}, {}, "{", 65536, kUser};
      const auto output =
          base::run(command, base::Deadline::after(std::chrono::milliseconds(10'000)));
      EXPECT_TRUE(succeeds(output));
    }
    tries_ = attacker.tries();
    return attacker.got_in();
  }

  TempDir dir_;
  const std::string client_ = dir_ / "ipu-vipu-client";
  int tries_ = 0;
};

TEST_P(ClientAttackTest, SucceedsOnAProgramThatItsUserMayRead) { EXPECT_TRUE(is_broken(0755)); }

TEST_P(ClientAttackTest, FailsOnTheInstalledMode) {
  EXPECT_FALSE(is_broken(0711));
  EXPECT_GT(tries_, kRuns) << "it hardly tried";
}

INSTANTIATE_TEST_SUITE_P(All, ClientAttackTest,
                         testing::Values(Way{"Ptrace", traces}, Way{"ProcessVmReadv", reads},
                                         Way{"ProcMem", opens}),
                         [](const testing::TestParamInfo<Way>& way) {
                           return std::string(way.param.name);
                         });

}  // namespace
}  // namespace test
