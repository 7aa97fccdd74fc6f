// SPDX-License-Identifier: Apache-2.0
// A call with many answers, by frames and over a socket whose other end is hostile.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/names.h"
#include "cmd/common/rpc/transport/channel.h"
#include "tests/support/outcome.h"
#include "tests/unit/cmd/common/rpc/transport/frames.h"

namespace transport {
namespace {

using namespace base::names;
using namespace frames;
using std::chrono::milliseconds;

constexpr size_t kLongestMessage = 64;

const Call kStream{"/service/Watch", "host:1", false, {}, "ask", {}, true};

std::string begin_answer() {
  return frame(kSettings, 0, 0, "") +
         headers(1, 0, {{":status", "200"}, {"content-type", "application/grpc"}});
}

std::string data(const std::string& bytes) { return frame(kData, 0, 1, bytes); }

std::string end_with(const std::string& status) {
  return headers(1, kEndStream, {{"grpc-status", status}, {"grpc-message", "words"}});
}

class StreamTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(test::succeeds(http2_.begin(kStream)));
    sent_ = http2_.to_send().take();
  }
  void receive(const std::string& bytes) { EXPECT_TRUE(test::succeeds(http2_.receive(bytes))); }
  RpcStatus outcome() const { return http2_.outcome().value_or(RpcStatus{StatusCode::OK, "none"}); }

  Http2 http2_{kLongestMessage};
  std::string sent_;
};

TEST_F(StreamTest, LeavesOurSideOpenAndSaysNoTime) {
  const std::string last = data(message("ask"));
  ASSERT_GE(sent_.size(), last.size());
  EXPECT_EQ(sent_.substr(sent_.size() - last.size()), last);
  EXPECT_EQ(sent_.find("grpc-timeout"), std::string::npos);
  EXPECT_EQ(http2_.to_send().take(), "");
}

TEST_F(StreamTest, SplitsMessagesWhereverTheFramesDo) {
  receive(begin_answer());
  for (const char byte : message("first") + message("") + message("third")) {
    receive(data({byte}));
  }
  EXPECT_EQ(http2_.take_message(), "first");
  EXPECT_EQ(http2_.take_message(), "");
  EXPECT_EQ(http2_.take_message(), "third");
  EXPECT_EQ(http2_.take_message(), std::nullopt);
  EXPECT_FALSE(http2_.outcome());
  receive(data(message("a") + message("b")));
  EXPECT_EQ(http2_.take_message(), "a");
  EXPECT_EQ(http2_.take_message(), "b");
}

TEST_F(StreamTest, EndsWithTheServersWord) {
  receive(begin_answer() + data(message("a")) + end_with("11"));
  EXPECT_EQ(outcome().code, StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(http2_.take_message(), "a");
}

TEST_F(StreamTest, TakesNoHalfMessageForAnEnd) {
  receive(begin_answer() + data(message("told").substr(0, 7)) + end_with("0"));
  EXPECT_EQ(outcome().code, StatusCode::INTERNAL);
}

TEST_F(StreamTest, RefusesAMessageThatIsTooLongBeforeItCame) {
  receive(begin_answer() + data(number(0, 1) + number(kLongestMessage + 1, 4)) + end_with("0"));
  EXPECT_TRUE(test::succeeds(http2_.to_send()));
  EXPECT_EQ(outcome().message, "its answer is too long");
  EXPECT_EQ(http2_.take_message(), std::nullopt);
}

TEST_F(StreamTest, RefusesACompressedMessage) {
  receive(begin_answer() + data(message("told", 1)) + end_with("0"));
  EXPECT_TRUE(test::succeeds(http2_.to_send()));
  EXPECT_EQ(outcome().code, StatusCode::INTERNAL);
  EXPECT_EQ(http2_.take_message(), std::nullopt);
}

class StreamChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    server_ = base::Fd(ends[0]);
    channel_.emplace(base::Fd(ends[1]), nullptr, kLongestMessage);
    ASSERT_TRUE(test::succeeds(channel_->begin(kStream)));
  }
  // Returns how many of BYTES the socket took.
  size_t tell(const std::string& bytes) {
    const ssize_t size = ::send(server_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return size < 0 ? 0 : static_cast<size_t>(size);
  }
  RpcStatus next(std::string& text, int ms = 2000) {
    return channel_->next(text, base::Deadline::after(milliseconds(ms)));
  }

  base::Fd server_;
  std::optional<Channel> channel_;
};

TEST_F(StreamChannelTest, WaitsForEachMessageNoLongerThanAllowed) {
  std::string text;
  EXPECT_EQ(next(text, 30).code, StatusCode::DEADLINE_EXCEEDED);
  tell(begin_answer() + data(message("one") + message("two")));
  EXPECT_TRUE(next(text).ok());
  EXPECT_EQ(text, "one");
  EXPECT_TRUE(next(text).ok());
  EXPECT_EQ(text, "two");
  EXPECT_EQ(next(text, 30).code, StatusCode::DEADLINE_EXCEEDED);
  tell(data(message("three")));
  EXPECT_TRUE(next(text).ok());
  EXPECT_EQ(text, "three");
}

TEST_F(StreamChannelTest, GivesWhatCameBeforeTheEnd) {
  tell(begin_answer() + data(message("one")) + end_with("0"));
  std::string text;
  EXPECT_TRUE(next(text).ok());
  EXPECT_EQ(next(text).code, StatusCode::UNAVAILABLE);
}

TEST_F(StreamChannelTest, SaysThatTheServerHasGone) {
  tell(begin_answer());
  server_ = base::Fd();
  std::string text;
  const RpcStatus status = next(text);
  EXPECT_EQ(status.code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.message, "it closed the connection");
}

TEST_F(StreamChannelTest, RefusesWhatIsNoHttp2) {
  tell("SSH-2.0-OpenSSH_9.2\r\n");
  std::string text;
  const RpcStatus status = next(text);
  EXPECT_EQ(status.code, StatusCode::UNAVAILABLE);
  EXPECT_NE(status.message.find("does not speak HTTP/2"), std::string::npos) << status.message;
}

TEST_F(StreamChannelTest, LeavesAFloodInTheSocket) {
  tell(begin_answer() + data(message("0")));
  std::string text;
  ASSERT_TRUE(next(text).ok());
  size_t taken = 0;
  const std::string flood = data(message(std::string(kLongestMessage, 'x')));
  for (int round = 0; round < 2000; ++round) {
    const size_t size = tell(flood);
    taken += size;
    if (size != flood.size()) break;
  }
  ASSERT_TRUE(next(text).ok());
  // What one step reads may wait here, and the rest in the socket: no more of it is taken in.
  size_t more = 0;
  for (size_t size = 1; size > 0 && more < (size_t{4} << 20); more += size) {
    size = tell(flood);
    if (size != flood.size()) break;
  }
  EXPECT_LE(more, size_t{128} << 10) << taken;
}

}  // namespace
}  // namespace transport
