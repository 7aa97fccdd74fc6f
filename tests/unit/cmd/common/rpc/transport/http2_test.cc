// SPDX-License-Identifier: Apache-2.0
// What the client makes of a controller's frames, which are written here byte by byte (RFC 9113,
// RFC 7541). How it asks is shown by the tests of ipu-vipu-client, with a server of gRPC.
#include "cmd/common/rpc/transport/http2.h"

#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/support/outcome.h"
#include "tests/unit/cmd/common/rpc/transport/frames.h"

namespace transport {
namespace {

using namespace base::names;
using namespace frames;
using namespace std::string_literals;

constexpr size_t kMost = 64;

const Call kCall{"/service/Call", "host:1", false, {}, "ask"};

class Http2Test : public testing::Test {
 protected:
  void SetUp() override {
    begin();
    receive(frame(kSettings, 0, 0, ""));
  }
  static void begin(Http2& http2) {
    ASSERT_TRUE(test::succeeds(http2.begin(kCall)));
    ASSERT_TRUE(test::succeeds(http2.to_send()));
  }
  void begin() { begin(http2_); }
  void receive(const std::string& bytes) { EXPECT_TRUE(test::succeeds(http2_.receive(bytes))); }
  // An answer with DATA and the status STATUS.
  static std::string answer(const std::string& data, const std::string& status = "0",
                            uint32_t stream = 1) {
    return headers(stream, 0, {{":status", "200"}, {"content-type", "application/grpc"}}) +
           frame(kData, 0, stream, data) +
           headers(stream, kEndStream, {{"grpc-status", status}, {"grpc-message", "words"}});
  }
  // Returns how a call of another connection ends after FRAMES.
  static RpcStatus status_after(const std::string& frames) {
    Http2 http2(kMost);
    begin(http2);
    EXPECT_TRUE(test::succeeds(http2.receive(frame(kSettings, 0, 0, "") + frames)));
    return http2.outcome().value_or(RpcStatus{StatusCode::OK, "none"});
  }
  RpcStatus outcome() const { return http2_.outcome().value_or(RpcStatus{StatusCode::OK, "none"}); }
  std::string sent() { return http2_.to_send().take(); }

  Http2 http2_{kMost};
};

TEST_F(Http2Test, UnderstandsAnAnswerThatComesByteByByte) {
  for (const char byte : answer(message("told"))) {
    EXPECT_FALSE(http2_.outcome());
    receive({byte});
  }
  ASSERT_TRUE(http2_.outcome());
  EXPECT_TRUE(outcome().ok()) << outcome().message;
  EXPECT_EQ(http2_.reply(), "told");
}

TEST_F(Http2Test, MakesOneCallAfterTheOther) {
  receive(answer(message("first")));
  begin();
  EXPECT_FALSE(http2_.outcome());
  receive(answer(message(""), "0", 3));
  EXPECT_TRUE(outcome().ok());
  EXPECT_EQ(http2_.reply(), "");
}

TEST_F(Http2Test, ReportsTheStatusAndTheWordsOfTheController) {
  receive(
      headers(1, kEndStream,
              {{":status", "200"}, {"grpc-status", "5"}, {"grpc-message", "no%20%C3%A9%4 %zz"}}));
  EXPECT_EQ(outcome().code, StatusCode::NOT_FOUND);
  EXPECT_EQ(outcome().message, "no \xc3\xa9%4 %zz");
}

TEST_F(Http2Test, TakesNoAnswerForWholeThatIsNot) {
  for (const std::string& data :
       {""s, "\0\0\0\0"s, message("told").substr(0, 7), message("told") + "x", message("told", 1),
        message("a") + message("b")}) {
    const RpcStatus status = status_after(answer(data));
    EXPECT_EQ(status.code, StatusCode::INTERNAL) << data;
    EXPECT_EQ(status.message, "its answer cannot be parsed");
  }
}

TEST_F(Http2Test, KnowsOnlyTheCodesOfGrpc) {
  for (const char* code : {"17", "-1", "", "OK", "4294967296"}) {
    const RpcStatus status = status_after(answer(message("told"), code));
    EXPECT_EQ(status.code, StatusCode::UNKNOWN) << code;
  }
}

TEST_F(Http2Test, TakesNoStatusFromAnAnswerThatWasCutShort) {
  const Fields begin{{":status", "200"}, {"grpc-status", "7"}};
  const std::string reset = frame(kReset, 0, 1, number(2, 4));
  EXPECT_EQ(status_after(headers(1, 0, begin) + reset).code, StatusCode::UNAVAILABLE);
  const Fields early{{":status", "103"}, {"grpc-status", "7"}};
  const Fields plain{{":status", "200"}};
  EXPECT_EQ(status_after(headers(1, 0, early) + headers(1, 0, plain) + reset).code,
            StatusCode::UNAVAILABLE);
  const RpcStatus by_data =
      status_after(headers(1, 0, begin) + frame(kData, kEndStream, 1, message("told")));
  EXPECT_EQ(by_data.code, StatusCode::UNKNOWN);
  EXPECT_FALSE(by_data.is_whole);
  const Fields good{{":status", "200"}, {"grpc-status", "0"}};
  EXPECT_EQ(status_after(headers(1, 0, good) + frame(kData, 0, 1, message("told")) + reset).code,
            StatusCode::UNAVAILABLE);
}

TEST_F(Http2Test, SaysWhetherTheControllerSpokeItself) {
  EXPECT_TRUE(status_after(answer("", "7")).is_whole);
  EXPECT_FALSE(status_after(answer("", "17")).is_whole);
  EXPECT_FALSE(status_after(answer("garbage")).is_whole);
  EXPECT_FALSE(status_after(headers(1, kEndStream, {{":status", "500"}})).is_whole);
  EXPECT_TRUE(status_after(headers(1, kEndStream, {{":status", "403"}})).is_whole);
}

// It has not taken all of the call.
TEST_F(Http2Test, TakesAnEarlyAnswer) {
  Http2 http2(kMost);
  Call call = kCall;
  call.message = std::string(100'000, 'x');
  ASSERT_TRUE(test::succeeds(http2.begin(call)));
  ASSERT_TRUE(test::succeeds(http2.to_send()));
  ASSERT_TRUE(test::succeeds(
      http2.receive(frame(kSettings, 0, 0, "") +
                    headers(1, kEndStream, {{":status", "200"}, {"grpc-status", "16"}}))));
  ASSERT_TRUE(http2.outcome());
  EXPECT_EQ(http2.outcome()->code, StatusCode::UNAUTHENTICATED);
  begin(http2);
  ASSERT_TRUE(test::succeeds(http2.receive(answer(message("told"), "0", 3))));
  EXPECT_TRUE(http2.outcome()->ok());
}

// As a proxy answers.
TEST_F(Http2Test, TakesTheStatusOfHttpWhereThereIsNoOther) {
  const std::pair<const char*, StatusCode> all[] = {{"200", StatusCode::UNKNOWN},
                                                    {"401", StatusCode::UNAUTHENTICATED},
                                                    {"404", StatusCode::UNIMPLEMENTED},
                                                    {"503", StatusCode::UNAVAILABLE}};
  for (const auto& [http, code] : all) {
    const RpcStatus status = status_after(headers(1, kEndStream, {{":status", http}}));
    EXPECT_EQ(status.code, code) << http;
    EXPECT_TRUE(status.message.ends_with(http)) << status.message;
  }
}

// Nobody knows whether the call was carried out.
TEST_F(Http2Test, TakesACallThatWasEndedForLost) {
  for (const uint32_t error : {NGHTTP2_REFUSED_STREAM, NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR,
                               NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INADEQUATE_SECURITY}) {
    const RpcStatus status = status_after(frame(kReset, 0, 1, number(error, 4)));
    EXPECT_EQ(status.code, StatusCode::UNAVAILABLE) << error;
  }
}

TEST_F(Http2Test, KeepsFewHeaders) {
  for (int i = 0; i < 100 && !http2_.outcome(); ++i) {
    const std::string name = "x-" + std::to_string(i);
    receive(headers(
        1, 0,
        {{":status", "100"}, {name, std::string(120, 'x')}, {name + "-b", std::string(120, 'x')}}));
    (void)sent();
  }
  EXPECT_EQ(outcome().code, StatusCode::OK) << "26 KB";
  for (int i = 100; i < 700 && !http2_.outcome(); ++i) {
    receive(headers(1, 0, {{":status", "100"}, {"x-" + std::to_string(i), std::string(120, 'x')}}));
    (void)sent();
  }
  EXPECT_EQ(outcome().message, "its answer is too long");
}

TEST_F(Http2Test, EndsACallWhoseAnswerIsTooLong) {
  (void)sent();
  receive(headers(1, 0, {{":status", "200"}}) +
          frame(kData, 0, 1, message(std::string(kMost, 'x'))));
  EXPECT_FALSE(http2_.outcome());
  EXPECT_EQ(sent().find(frame(kReset, 0, 1, number(NGHTTP2_CANCEL, 4))), std::string::npos);
  receive(frame(kData, 0, 1, "x"));
  EXPECT_NE(sent().find(frame(kReset, 0, 1, number(NGHTTP2_CANCEL, 4))), std::string::npos);
  EXPECT_EQ(outcome().code, StatusCode::INTERNAL);
  EXPECT_EQ(outcome().message, "its answer is too long");
}

TEST_F(Http2Test, BeginsNoCallWithAControllerThatIsLeaving) {
  EXPECT_TRUE(http2_.is_open());
  receive(frame(kGoAway, 0, 0, number(0, 4) + number(NGHTTP2_NO_ERROR, 4)));
  EXPECT_FALSE(http2_.is_open());
  EXPECT_EQ(outcome().code, StatusCode::UNAVAILABLE) << "it has not begun this one";
}

TEST_F(Http2Test, LetsTheControllerFinishACallBeforeItLeaves) {
  receive(frame(kGoAway, 0, 0, number(1, 4) + number(NGHTTP2_NO_ERROR, 4)));
  EXPECT_FALSE(http2_.outcome());
  receive(answer(message("told")));
  EXPECT_TRUE(outcome().ok());
}

TEST_F(Http2Test, TellsTheControllerThatACallWasGivenUp) {
  (void)sent();
  http2_.cancel();
  EXPECT_NE(sent().find(frame(kReset, 0, 1, number(NGHTTP2_CANCEL, 4))), std::string::npos);
  receive(answer(message("late")));
}

TEST(Http2GarbageTest, IsNotTakenForHttp2) {
  for (const std::string& bytes :
       {"HTTP/1.1 400 Bad Request\r\n\r\n"s, std::string(64, '\0'), std::string(64, '\xff')}) {
    Http2 http2(kMost);
    ASSERT_TRUE(test::succeeds(http2.begin(kCall)));
    ASSERT_TRUE(test::succeeds(http2.to_send()));
    const bool taken = http2.receive(bytes).ok() && http2.to_send().ok();
    EXPECT_TRUE(!taken || http2.has_ended()) << bytes;
  }
}

}  // namespace
}  // namespace transport
