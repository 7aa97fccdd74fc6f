// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/fleet/partitions.h"
#include "tests/support/fake_store.h"
#include "tests/support/outcome.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMe = "11111111";
constexpr const char* kDead = "22222222";
constexpr minutes kAfter{10};

enum class Is { kAlive, kSuspect, kFenced };
HostState host(const std::string& tag, Is is, int64_t record = 5) {
  HostState state;
  state.host.tag = tag;
  state.is_alive = is == Is::kAlive;
  state.is_fenced = is == Is::kFenced;
  state.modified = record;
  return state;
}

// Looks every STEP until TIME has passed.
class SuspectsTest : public testing::Test {
 protected:
  void look(minutes time, std::chrono::seconds step = std::chrono::seconds(20)) {
    const int64_t end = now_ + std::chrono::milliseconds(time).count();
    for (;;) {
      seen_ = observe(parse_observation(to_text(seen_)), {boot_, now_, turn_, hosts_, fences_});
      if (now_ >= end) return;
      now_ += std::chrono::milliseconds(step).count();
    }
  }
  Due due() { return find_due(seen_, hosts_, kMe, kAfter); }
  std::vector<std::string> tags() {
    std::vector<std::string> all;
    for (const HostState& one : due().hosts) all.push_back(one.host.tag);
    return all;
  }

  Observation seen_;
  std::string boot_ = "boot";
  int64_t now_ = -5'000'000;
  int64_t turn_ = 0;
  std::vector<FenceFacts> fences_;
  std::vector<HostState> hosts_ = {host(kMe, Is::kAlive), host(kDead, Is::kSuspect)};
};

TEST_F(SuspectsTest, IsDueOnceItWasWatchedForLongEnough) {
  look(minutes(9));
  EXPECT_THAT(tags(), IsEmpty());
  EXPECT_EQ(due().why_not, "");
  look(minutes(1));
  EXPECT_THAT(tags(), ElementsAre(kDead));
}

TEST_F(SuspectsTest, BeginsAnewWhenTheHostWasHeardOf) {
  look(minutes(9));
  hosts_[1].is_alive = true;
  look(minutes(1));
  hosts_[1] = host(kDead, Is::kSuspect, 6);
  look(minutes(9));
  EXPECT_THAT(tags(), IsEmpty());
  // It was alive between two looks only.
  hosts_[1].modified = 7;
  look(minutes(9));
  EXPECT_THAT(tags(), IsEmpty());
  look(minutes(1));
  EXPECT_THAT(tags(), ElementsAre(kDead));
}

TEST_F(SuspectsTest, BeginsAnewWhenThisHostWasAwayItself) {
  look(minutes(9));
  now_ += std::chrono::milliseconds(kLongestGap).count() + 1;
  look(minutes(1));
  EXPECT_THAT(tags(), IsEmpty());
  look(minutes(8));
  boot_ = "another";
  look(minutes(2));
  EXPECT_THAT(tags(), IsEmpty());
  now_ -= 60'000;
  look(minutes(9));
  EXPECT_THAT(tags(), IsEmpty());
}

TEST_F(SuspectsTest, IsNotDueWhenMostHostsAreSuspect) {
  hosts_.push_back(host("33333333", Is::kSuspect));
  hosts_.push_back(host("44444444", Is::kFenced));
  look(minutes(11));
  EXPECT_THAT(tags(), IsEmpty());
  EXPECT_THAT(due().why_not, HasSubstr("2 of 3 hosts"));
  hosts_.push_back(host("55555555", Is::kAlive));
  EXPECT_THAT(tags(), ElementsAre(kDead, "33333333"));
}

TEST_F(SuspectsTest, IsNotDueForAHostThatIsNotWellItself) {
  hosts_.push_back(host("33333333", Is::kAlive));
  look(minutes(11));
  EXPECT_THAT(tags(), ElementsAre(kDead));
  for (const Is is : {Is::kSuspect, Is::kFenced}) {
    hosts_[0] = host(kMe, is);
    EXPECT_THAT(tags(), IsEmpty());
    EXPECT_THAT(due().why_not, HasSubstr("not alive"));
  }
  hosts_[0] = host("66666666", Is::kAlive);
  EXPECT_THAT(tags(), IsEmpty());
}

TEST_F(SuspectsTest, NeverTakesThisHost) {
  hosts_ = {host(kMe, Is::kSuspect), host(kDead, Is::kAlive), host("33333333", Is::kAlive)};
  look(minutes(11));
  EXPECT_THAT(tags(), IsEmpty());
}

TEST_F(SuspectsTest, WaitsAMinuteAfterTheLastAutomaticFence) {
  look(minutes(11));
  turn_ = 40;
  look(minutes(0));
  EXPECT_THAT(tags(), IsEmpty());
  EXPECT_THAT(due().why_not, HasSubstr("less than a minute ago"));
  look(minutes(1));
  EXPECT_THAT(tags(), ElementsAre(kDead));
}

TEST_F(SuspectsTest, TakesTheOneFirstThatIsSuspectForLongest) {
  hosts_.push_back(host("33333333", Is::kAlive));
  hosts_.push_back(host("00000000", Is::kAlive));
  look(minutes(5));
  hosts_[3] = host("00000000", Is::kSuspect);
  look(minutes(11));
  EXPECT_THAT(tags(), ElementsAre(kDead, "00000000"));
}

TEST_F(SuspectsTest, WatchesAnewAfterATextThatIsNone) {
  for (const char* text :
       {"", "x", "{}", R"({"boot":"boot","at_ms":1,"turn":0,"turn_since_ms":0})",
        R"({"boot":"boot","at_ms":1,"turn":0,"turn_since_ms":0,"hosts":{}})",
        R"({"boot":"boot","at_ms":1,"turn":0,"turn_since_ms":0,"hosts":{"a":1},"fences":{}})"})
    EXPECT_EQ(parse_observation(text), Observation()) << text;
}

TEST_F(SuspectsTest, TakesAFenceForCutShortOnceNobodyHasChangedItForLong) {
  FenceFacts fence;
  fence.host = kDead;
  fence.modified = 7;
  fences_ = {fence};
  look(minutes(2));
  EXPECT_THAT(find_unfinished(seen_, hosts_, kMe), IsEmpty());
  fences_[0].modified = 8;  // somebody goes on with it
  look(minutes(2));
  EXPECT_THAT(find_unfinished(seen_, hosts_, kMe), IsEmpty());
  look(minutes(1));
  EXPECT_THAT(find_unfinished(seen_, hosts_, kMe), ElementsAre(kDead));
  EXPECT_THAT(find_unfinished(seen_, hosts_, kDead), IsEmpty());
  hosts_[0] = host(kMe, Is::kFenced);
  EXPECT_THAT(find_unfinished(seen_, hosts_, kMe), IsEmpty());
  hosts_[0] = host(kMe, Is::kAlive);
  fences_[0].is_finished = true;
  look(minutes(0));
  EXPECT_THAT(find_unfinished(seen_, hosts_, kMe), IsEmpty());
}

class TurnTest : public testing::Test {
 protected:
  static Deadline soon() { return Deadline::after(std::chrono::milliseconds(1000)); }
  void SetUp() override {
    const HostFacts dead{kDead, "node", "identity", "1.0", "boot"};
    ASSERT_TRUE(test::succeeds(beat(store_, kPrefix, dead, 1, soon())));
    store_.advance(std::chrono::seconds(31));
    std::vector<Error> obstacles;
    dead_ = list_hosts(store_, kPrefix, soon(), obstacles).take().front();
    ASSERT_FALSE(dead_.is_alive);
  }
  Status take(int64_t turn) { return take_turn(store_, kPrefix, dead_, turn, kMe, 1, soon()); }
  int64_t turn() { return find_turn(store_, kPrefix, soon()).take(); }

  const std::string kPrefix = "/f/";
  test::FakeStore store_;
  HostState dead_;
};

TEST_F(TurnTest, IsTakenOnceAsItWasSeen) {
  const int64_t first = turn();
  EXPECT_EQ(first, 0);
  ASSERT_TRUE(test::succeeds(take(first)));
  EXPECT_TRUE(test::fails(take(first), Code::kBusy, "another host was fenced"));
  ASSERT_TRUE(test::succeeds(take(turn())));
}

TEST_F(TurnTest, IsNotTakenForAHostThatIsHeardOf) {
  ASSERT_TRUE(
      test::succeeds(beat(store_, kPrefix, {kDead, "node", "identity", "1.0", "boot"}, 2, soon())));
  EXPECT_TRUE(test::fails(take(0), Code::kBusy, "was heard of"));
  store_.advance(std::chrono::seconds(31));
  EXPECT_TRUE(test::fails(take(0), Code::kBusy)) << "it has beaten since";
}

TEST_F(TurnTest, IsNotTakenForAHostThatIsFenced) {
  ASSERT_TRUE(test::succeeds(fence({store_, kPrefix, soon()}, kDead, kMe, 1)));
  EXPECT_TRUE(test::fails(take(0), Code::kBusy));
}

}  // namespace
}  // namespace hook::fleet
