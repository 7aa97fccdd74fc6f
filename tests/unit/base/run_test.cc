// SPDX-License-Identifier: Apache-2.0
// base::run, on programs that every system has.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/scope.h"
#include "tests/support/outcome.h"

namespace base {
namespace {

using std::chrono::milliseconds;

Deadline in_time() { return Deadline::after(milliseconds(30'000)); }

Command shell(const std::string& script) {
  return {"/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, "", 1 << 20, {}};
}

std::string output_of(const Command& command) {
  const Result<Output> output = run(command, in_time());
  return output.ok() ? output.value().out : output.error().message();
}

class RunTest : public testing::Test {
 protected:
  // No child may be left, neither running nor as a zombie.
  void TearDown() override {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
};

TEST_F(RunTest, GivesTheProgramItsArgumentsAndOnlyTheGivenEnvironment) {
  ASSERT_EQ(::setenv("OF_THE_CALLER", "1", 1), 0);
  EXPECT_EQ(output_of({"/usr/bin/env", {"any name"}, {"A=1", "B=two words"}, "", 100, {}}),
            "A=1\nB=two words\n");
  EXPECT_EQ(output_of({"/bin/echo", {"echo", "a b", "", "c"}, {}, "", 100, {}}), "a b  c\n");
}

TEST_F(RunTest, CarriesMoreThanAPipeHoldsInBothDirectionsAtOnce) {
  std::string input(3'000'000, '\0');
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<char>(i % 251);
  const Result<Output> output = run({"/bin/cat", {"cat"}, {}, input, input.size(), {}}, in_time());
  ASSERT_TRUE(test::succeeds(output));
  EXPECT_EQ(output.value().exit_status, 0);
  EXPECT_TRUE(output.value().out == input);
}

TEST_F(RunTest, EndsAnEmptyInputAtOnce) {
  const Result<Output> output = run({"/bin/cat", {"cat"}, {}, "", 10, {}}, in_time());
  ASSERT_TRUE(test::succeeds(output));
  EXPECT_EQ(output.value().out, "");
}

TEST_F(RunTest, ReportsTheExitStatus) {
  EXPECT_EQ(run(shell("exit 7"), in_time()).value().exit_status, 7);
  EXPECT_EQ(run(shell("kill -9 $$"), in_time()).value().exit_status, 128 + SIGKILL);
}

TEST_F(RunTest, ItsErrorsGoWhereTheyAreSaidToGo) {
  const Fd errors(::memfd_create("errors", MFD_CLOEXEC));
  Command command = shell("echo out; echo wrong >&2; ls /proc/self/fd");
  const std::string without = output_of(command);
  command.error_fd = errors.get();
  EXPECT_EQ(output_of(command), without);  // the same descriptors, and no error among the output
  char text[10] = {};
  EXPECT_EQ(::pread(errors.get(), text, sizeof text, 0), 6);
  EXPECT_STREQ(text, "wrong\n");
}

TEST_F(RunTest, KillsTheProgramAtTheDeadline) {
  const Result<Output> output = run(shell("exec sleep 600"), Deadline::after(milliseconds(50)));
  EXPECT_TRUE(test::fails(output, Code::kTimeout, "run '/bin/sh'"));
}

TEST_F(RunTest, KillsAProgramThatHasClosedOnlyItsOutputAtTheDeadline) {
  const Command command = shell("exec 1>&-; exec sleep 600");
  EXPECT_TRUE(test::fails(run(command, Deadline::after(milliseconds(50))), Code::kTimeout));
}

TEST_F(RunTest, KillsAProgramThatLivesOnWithoutInputAndOutput) {
  const Result<Output> output = run(shell("echo x; exec 0<&- 1>&-; exec sleep 600"), in_time());
  ASSERT_TRUE(test::succeeds(output));
  EXPECT_EQ(output.value().exit_status, 128 + SIGKILL);
  EXPECT_EQ(output.value().out, "x\n");
}

TEST_F(RunTest, EndsAProgramThatWritesTooMuch) {
  Command command = shell("while :; do echo 0123456789; done");
  command.max_output = 100'000;
  EXPECT_TRUE(test::fails(run(command, in_time()), Code::kInvalid, "more than 100000 bytes"));
}

TEST_F(RunTest, TakesExactlyTheLargestOutput) {
  Command command = shell("printf 12345");
  command.max_output = 5;
  EXPECT_EQ(output_of(command), "12345");
  command.max_output = 4;
  EXPECT_FALSE(run(command, in_time()).ok());
}

TEST_F(RunTest, NamesAProgramThatIsNotThere) {
  const Result<Output> output = run({"/no/such/program", {"program"}, {}, "", 10, {}}, in_time());
  EXPECT_TRUE(test::fails(output, Code::kNotFound, "run '/no/such/program': not found"));
}

TEST_F(RunTest, SaysThatAFileIsNoProgram) {
  EXPECT_TRUE(test::fails(run({"/etc/passwd", {"x"}, {}, "", 10, {}}, in_time()), Code::kDenied));
}

TEST_F(RunTest, NeedsNoReaderOfItsInput) {
  Command command = shell("echo answer; exit 3");
  command.input = std::string(3'000'000, 'x');
  const Result<Output> output = run(command, in_time());
  ASSERT_TRUE(test::succeeds(output));
  EXPECT_EQ(output.value().exit_status, 3);
  EXPECT_EQ(output.value().out, "answer\n");
}

// The shell's own tests open nothing.
constexpr const char* kListDescriptors =
    "i=0; while [ $i -lt 64 ]; do [ -e /proc/self/fd/$i ] && echo $i; i=$((i+1)); done; :";

TEST_F(RunTest, GivesTheProgramNoDescriptorButItsThree) {
  const Fd inheritable(::fcntl(STDIN_FILENO, F_DUPFD, 20));
  const Fd next(::fcntl(STDIN_FILENO, F_DUPFD, 3));
  ASSERT_TRUE(inheritable.valid() && next.valid());
  EXPECT_EQ(output_of(shell(kListDescriptors)), "0\n1\n2\n");
}

TEST_F(RunTest, GivesTheProgramNoWayToTheCallersStandardError) {
  EXPECT_EQ(output_of(shell("readlink /proc/self/fd/2")), "/dev/null\n");
}

// A hook may be started with its standard descriptors closed.
TEST_F(RunTest, WorksForACallerWithoutStandardDescriptors) {
  for (const int open_ones : {0, 1, 2}) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      for (int fd = open_ones; fd < 3; ++fd) (void)::close(fd);
      Command command = shell(kListDescriptors + std::string("; echo to stderr >&2; cat"));
      command.input = "input";
      if (output_of(command) != "0\n1\n2\ninput") ::_exit(1);
      command.path = "/no/such/program";
      ::_exit(test::fails(run(command, in_time()), Code::kNotFound) ? 0 : 2);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "with " << open_ones << " descriptors open";
    EXPECT_TRUE(WIFEXITED(status));
  }
}

TEST_F(RunTest, LetsTheProgramGainNoPrivileges) {
  const Command command{"/bin/grep", {"grep", "NoNewPrivs", "/proc/self/status"}, {}, "", 100, {}};
  EXPECT_EQ(output_of(command), "NoNewPrivs:\t1\n");
}

TEST_F(RunTest, LetsTheProgramDumpNoCore) { EXPECT_EQ(output_of(shell("ulimit -c")), "0\n"); }

TEST_F(RunTest, GivesTheProgramASessionOfItsOwn) {
  // Fields 1, 5 and 6 of stat: the process, its group, its session.
  EXPECT_EQ(output_of(shell("read -r p n s pp g sid rest </proc/self/stat; "
                            "[ $p = $$ ] && [ $g = $$ ] && [ $sid = $$ ] && echo own")),
            "own\n");
}

TEST_F(RunTest, StartsTheProgramInTheRootDirectory) {
  ASSERT_NE(std::filesystem::current_path(), "/");
  EXPECT_EQ(output_of(shell("readlink /proc/self/cwd")), "/\n");
}

TEST_F(RunTest, GivesTheProgramNoBlockedSignals) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ASSERT_EQ(::sigprocmask(SIG_BLOCK, &blocked, &before), 0);
  const ScopeExit restore([&] { (void)::sigprocmask(SIG_SETMASK, &before, nullptr); });
  const Command command{"/bin/grep", {"grep", "SigBlk", "/proc/self/status"}, {}, "", 100, {}};
  EXPECT_EQ(output_of(command), "SigBlk:\t0000000000000000\n");
}

TEST_F(RunTest, HasNoExitStatusWhereTheCallerIgnoresItsChildren) {
  (void)::signal(SIGCHLD, SIG_IGN);
  const Result<Output> output = run(shell("echo x; exit 7"), in_time());
  (void)::signal(SIGCHLD, SIG_DFL);
  ASSERT_TRUE(test::succeeds(output));
  EXPECT_EQ(output.value().out, "x\n");
  EXPECT_EQ(output.value().exit_status, -1);
}

}  // namespace
}  // namespace base
