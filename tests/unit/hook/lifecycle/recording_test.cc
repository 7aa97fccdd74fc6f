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

TEST(TimeText, HasTheUnitThatPeopleReadMost) {
  using std::chrono::microseconds;
  EXPECT_EQ(time_text(microseconds(840)), "0.8 ms");
  EXPECT_EQ(time_text(microseconds(9'999)), "9.9 ms");
  EXPECT_EQ(time_text(microseconds(52'300)), "52 ms");
  EXPECT_EQ(time_text(microseconds(12'000'000)), "12 s");
}

}  // namespace
}  // namespace hook::lifecycle
