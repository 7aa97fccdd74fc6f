// SPDX-License-Identifier: Apache-2.0
// Questions of a program to the process that runs it.
#include "base/serve.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/process.h"
#include "base/text.h"
#include "tests/support/outcome.h"

namespace base {
namespace {

using std::chrono::milliseconds;

class ServeTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    program_.reset(ends[0]);
    caller_.reset(ends[1]);
  }
  // What the program gets for QUESTION from this server.
  Result<Answer> asked(const std::string& question, const Serve& serve) {
    Result<Answer> answer = Error(Code::kInternal, "not asked");
    std::thread program([&] { answer = ask(program_.get(), question); });
    while (::recv(caller_.get(), nullptr, 0, MSG_PEEK) < 0 && errno == EINTR) continue;
    EXPECT_TRUE(answer_one(caller_.get(), serve));
    program.join();
    return answer;
  }

  Fd program_;
  Fd caller_;
};

TEST_F(ServeTest, PassesATextAndADescriptor) {
  const Result<Answer> answer = asked("a null device", [](std::string_view question) {
    return Answer{Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), str("here is ", question)};
  });
  ASSERT_TRUE(test::succeeds(answer));
  EXPECT_EQ(answer.value().text, "here is a null device");
  char byte = 0;
  EXPECT_EQ(::read(answer.value().fd.get(), &byte, 1), 0);
  EXPECT_EQ(::fcntl(answer.value().fd.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(ServeTest, PassesATextAlone) {
  const Result<Answer> answer = asked("?", [](std::string_view) { return Answer{{}, "no"}; });
  ASSERT_TRUE(test::succeeds(answer));
  EXPECT_EQ(answer.value().text, "no");
  EXPECT_FALSE(answer.value().fd.valid());
}

TEST_F(ServeTest, CutsQuestionsAndAnswers) {
  const std::string question(3 * kMaxQuestion, 'q');
  const Result<Answer> answer = asked(question, [](std::string_view text) {
    EXPECT_EQ(text.size(), kMaxQuestion);
    return Answer{{}, std::string(3 * kMaxAnswer, 'a')};
  });
  ASSERT_TRUE(test::succeeds(answer));
  EXPECT_EQ(answer.value().text.size(), kMaxAnswer);
}

TEST_F(ServeTest, EndsWithTheOtherSide) {
  const Serve never = [](std::string_view) -> Answer {
    ADD_FAILURE();
    return {};
  };
  EXPECT_TRUE(answer_one(caller_.get(), never)) << "no question yet";
  program_.reset();
  EXPECT_FALSE(answer_one(caller_.get(), never));
  SetUp();
  caller_.reset();
  EXPECT_FALSE(ask(program_.get(), "?").ok());
}

TEST_F(ServeTest, DoesNotWaitForAProgramThatTakesNoAnswers) {
  for (int i = 0; i < 100'000; ++i) {
    (void)::send(program_.get(), "?", 1, MSG_DONTWAIT);
    if (!answer_one(caller_.get(), [](std::string_view) { return Answer{{}, "no"}; })) return;
  }
  FAIL() << "it answered for ever";
}

Command asking(const std::string& script, Serve serve) {
  Command command{"/bin/sh", {"sh", "-c", script}, {"PATH=/bin:/usr/bin"}, "", 1 << 20, {}};
  command.serve = std::move(serve);
  return command;
}

TEST(RunWithServe, AnswersTheProgramAndCountsNothingOfItAsOutput) {
  const std::string ask = "dd bs=100 count=1 <&3 2>/dev/null; echo; ";
  const Result<Output> output = run(asking(str("echo one >&3; ", ask, "echo two >&3; ", ask),
                                           [](std::string_view question) {
                                             return Answer{{}, str("to ", trim(question))};
                                           }),
                                    Deadline::after(milliseconds(10'000)));
  ASSERT_TRUE(test::succeeds(output));
  EXPECT_EQ(output.value().out, "to one\nto two\n");
}

TEST(RunWithServe, AProgramHasThatDescriptorAndNoOther) {
  const std::string list = "exec ls /proc/self/fd";  // opens one for itself
  const auto none = [](std::string_view) { return Answer{}; };
  const Deadline soon = Deadline::after(milliseconds(10'000));
  EXPECT_EQ(run(asking(list, none), soon).take().out, "0\n1\n2\n3\n4\n");
  EXPECT_EQ(run(asking(list, {}), soon).take().out, "0\n1\n2\n3\n");
}

TEST(RunWithServe, AProgramThatAsksForEverEndsAtTheDeadline) {
  const Result<Output> output =
      run(asking("while :; do echo ? >&3; dd bs=100 count=1 <&3 >/dev/null 2>&1; done",
                 [](std::string_view) {
                   return Answer{{}, "no"};
                 }),
          Deadline::after(milliseconds(300)));
  EXPECT_TRUE(test::fails(output, Code::kTimeout));
}

}  // namespace
}  // namespace base
