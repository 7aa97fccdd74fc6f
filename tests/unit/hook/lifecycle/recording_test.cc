// SPDX-License-Identifier: Apache-2.0
// What a start and its end leave in the history.
#include "hook/lifecycle/recording.h"

#include <gmock/gmock.h>

#include "base/names.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class RecordingTest : public testing::Test {
 protected:
  // "KIND text" of each event of the newest lease of CONTAINER.
  std::vector<std::string> story(const std::string& container) {
    std::vector<std::string> lines;
    for (const ledger::Event& event :
         host_.ledger.events().of_lease(host_.lease_of(container).id).take()) {
      lines.push_back(str(name_of(event.kind), " ", event.text));
    }
    return lines;
  }
  test::HookHost host_;
};

TEST_F(RecordingTest, TheAnswersOfTheControllerAreWithTheChangeThatTheyLeadTo) {
  const ledger::Lease lease = host_.start("web", 4);
  ASSERT_TRUE(test::succeeds(end::release(host_.env, lease, "", test::HookHost::soon())));
  EXPECT_THAT(
      story("web"),
      ElementsAre(
          "STATE INTENT",
          MatchesRegex("CONTROLLER create c-[0-9a-f]+-[0-9a-f]+ of 4 IPUs: ACTIVE after .*s"),
          "STATE ALLOCATED", "STATE RELEASING",
          MatchesRegex("CONTROLLER remove c-[0-9a-f]+-[0-9a-f]+: gone after .*s"),
          "STATE QUARANTINE"));
}

TEST_F(RecordingTest, WhatTheUserSawIsThereAsItWasSeen) {
  host_.start("holder", 16);
  const base::Status refused = host_.prepare("web", 4);
  ASSERT_TRUE(test::fails(refused, Code::kBusy, "has no free block of 4 IPUs"));
  const std::vector<std::string> lines = story("web");
  EXPECT_THAT(lines.at(1), MatchesRegex("CONTROLLER create c-.* of 4 IPUs: .* \\(after .*s\\)"));
  EXPECT_EQ(lines.at(2), "ERROR " + refused.error().message());
  EXPECT_EQ(lines.back(), "STATE FAILED");
  EXPECT_EQ(host_.lease_of("web").error, refused.error().message());
}

TEST_F(RecordingTest, AReleaseThatHangsSaysWhy) {
  const ledger::Lease lease = host_.start("web", 4);
  host_.controller.set_unreachable(true);
  EXPECT_FALSE(end::release(host_.env, lease, "", test::HookHost::soon()).ok());
  const std::vector<std::string> lines = story("web");
  ASSERT_GE(lines.size(), 2U);
  EXPECT_THAT(lines.at(lines.size() - 2), HasSubstr("fake controller: remove: down (after "));
  EXPECT_THAT(lines.back(), HasSubstr("STATE not released yet: "));
}

TEST_F(RecordingTest, ARetryThatFailsTheSameWayIsNoEvent) {
  const ledger::Lease lease = host_.start("web", 4);
  host_.controller.set_unreachable(true);
  EXPECT_FALSE(end::release(host_.env, lease, "", test::HookHost::soon()).ok());
  const std::vector<std::string> before = story("web");
  EXPECT_FALSE(end::release(host_.env, host_.lease_of("web"), "", test::HookHost::soon()).ok());
  EXPECT_EQ(story("web"), before);
  EXPECT_EQ(host_.lease_of("web").attempts, 2U);
}

TEST_F(RecordingTest, AnAnswerIsReadAsItWasWritten) {
  const ledger::Lease lease = host_.start("web", 16);
  EXPECT_FALSE(host_.prepare("refused", 4).ok());
  ASSERT_TRUE(test::succeeds(end::release(host_.env, lease, "", test::HookHost::soon())));
  std::vector<std::string> read;
  for (const ledger::Event& event : host_.ledger.events().after(0, 1000).take()) {
    const std::optional<NotedAnswer> answer = parse_answer(event.text);
    ASSERT_EQ(answer.has_value(), event.kind == ledger::EventKind::kController) << event.text;
    if (!answer) continue;
    EXPECT_EQ(event.pool, lease.pool);
    EXPECT_EQ(answer->seconds.has_value(), answer->ok) << event.text;
    EXPECT_LT(answer->seconds.value_or(0), 60) << event.text;
    read.push_back(str(answer->call, answer->ok ? " ok" : " failed"));
    EXPECT_EQ(answer->status, kNoStatus);
  }
  EXPECT_THAT(read, ElementsAre("create ok", "create failed", "remove ok", "remove ok"));
}

TEST(ParseAnswer, FindsCallTimeAndStatus) {
  const auto text_of = [](std::string_view text) {
    const std::optional<NotedAnswer> found = parse_answer(text);
    if (!found) return std::string("no answer");
    return str(found->call, ' ', found->ok ? "done" : found->status, ' ',
               found->seconds ? std::to_string(*found->seconds).substr(0, 6) : "no time");
  };
  EXPECT_EQ(text_of("wait for p0: ACTIVE after 0.8 ms"), "wait done 0.0008");
  EXPECT_EQ(text_of("create p0 of 4 IPUs: made after 52 ms"), "create done 0.0520");
  EXPECT_EQ(text_of("reset p0: reset after 12 s"), "reset done 12.000");
  EXPECT_EQ(text_of("remove p0: was absent after 2.5 ms"), "remove done 0.0025");
  EXPECT_EQ(
      text_of("configuration of p0: V-IPU controller c:1: config p0: cannot be reached: refused"
              " (UNAVAILABLE after 3 ms) (after 5.1 ms)"),
      "configuration UNAVAILABLE no time");
  EXPECT_EQ(text_of("create p0 of 4 IPUs: no answer within 90 ms (DEADLINE_EXCEEDED) (after 2 s)"),
            "create DEADLINE_EXCEEDED no time");
  EXPECT_EQ(text_of("create p0 of 4 IPUs: failed: (ABORTED) (EVIL after 1 ms) (INTERNAL after 1 ms)"
                    " (after 1 ms)"),
            "create INTERNAL no time");
  EXPECT_EQ(text_of("create p0 of 4 IPUs: failed: (EVIL) (after x ms)"), "create none no time");
  EXPECT_EQ(text_of("remove p0: ACTIVE after"), "remove none no time") << "cut";
  EXPECT_EQ(text_of("remove p0: "), "remove none no time");
  EXPECT_EQ(text_of("removes p0: gone after 1 ms"), "no answer");
  EXPECT_EQ(text_of("RUNNING"), "no answer");
  EXPECT_EQ(text_of(""), "no answer");
}

TEST(TimeText, HasTheUnitThatPeopleReadMost) {
  using std::chrono::microseconds;
  EXPECT_EQ(time_text(microseconds(840)), "0.8 ms");
  EXPECT_EQ(time_text(microseconds(9'999)), "9.9 ms");
  EXPECT_EQ(time_text(microseconds(52'300)), "52 ms");
  EXPECT_EQ(time_text(microseconds(12'000'000)), "12 s");
}

}  // namespace
}  // namespace hook::lifecycle
