// SPDX-License-Identifier: Apache-2.0
// Mistakes that the product could have made, and some that it had made: the model finds each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>

#include "tests/unit/hook/model/explore.h"

namespace model {
namespace {

using hook::ledger::Change;
using hook::ledger::Holder;
using hook::ledger::LeaseState;
using hook::ledger::Transition;
using testing::HasSubstr;

struct Mistake {
  std::string name;
  std::function<void(Rules&)> make;
  std::string wrong;
  std::string because;  // a step of the shortest way there
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

std::function<void(Rules&)> no(bool Rules::*rule) {
  return [rule](Rules& rules) { rules.*rule = false; };
}

// CHANGE from FROM is another one in the table.
std::function<void(Rules&)> changed(Change change, LeaseState from, void (*edit)(Transition&)) {
  return [=](Rules& rules) {
    const auto row = std::find_if(
        rules.table.begin(), rules.table.end(),
        [&](const Transition& other) { return other.change == change && other.from == from; });
    ASSERT_NE(row, rules.table.end());
    edit(*row);
  };
}

void leaves_holder(Transition& row) { row.holder = Holder::kSame; }
void frees_at_once(Transition& row) { row.to = LeaseState::kFree; }

constexpr const char* kTaken = "a lease is taken from a process that lives";
constexpr const char* kNoLease = "there is a partition that no live lease leads to";

const Mistake kMistakes[] = {
    {"NoGenerations", no(&Rules::compares_generations), kTaken, "hook 1 commits that it attaches"},
    {"EffectBeforeIntent", no(&Rules::intends_first), kNoLease,
     "starter 1 asks for a partition, which is made; the answer is lost"},
    {"LostAnswerTakenForNothingMade", no(&Rules::doubts_lost_answers), kNoLease,
     "starter 1 knows of no partition"},
    {"NoLookUnderTheLock", no(&Rules::looks_again_under_lock),
     "there is an interface that no live lease leads to", "hook 1 makes the interface"},
    {"PartitionBeforeInterface", no(&Rules::interface_first),
     "an interface reaches the IPUs of another lease", "removes the partition"},
    {"FreeInSpiteOfObstacles", no(&Rules::keeps_what_is_left), kNoLease,
     "does not reach the controller"},
    {"OrphansWhoseOwnerLives", no(&Rules::looks_at_owner), kTaken, "'ipuctl gc'"},
    {"PoststopByContainer", no(&Rules::poststop_names_lease),
     "a poststop changes a lease that it was not called for",
     "[lease 2] releaser 1 is called as poststop"},
    {"AllocatedIsFreedAtOnce", changed(Change::kRelease, LeaseState::kAllocated, frees_at_once),
     kNoLease, "commits ALLOCATED"},
    {"HookDoesNotHoldWhatItAttaches",
     changed(Change::kAttach, LeaseState::kAllocated, leaves_holder), kTaken,
     "starter 1 is killed"},
    {"ContainerDoesNotHoldWhatItRunsWith",
     changed(Change::kRun, LeaseState::kAllocated, leaves_holder),
     "a reconcile harms a container that runs", "hook 1 commits RUNNING"},
    {"WhoCouldNotReleaseKeepsTheLease",
     changed(Change::kHold, LeaseState::kReleasing, leaves_holder),
     "a reconcile leaves something behind", "starter 2 notes what it could not undo"},
};

std::string name_of_mistake(const testing::TestParamInfo<Mistake>& info) { return info.param.name; }

class MistakeTest : public testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, IsFound) {
  Rules rules;
  GetParam().make(rules);
  const Explored explored = explore(rules, {});
  EXPECT_EQ(explored.wrong, GetParam().wrong) << text_of(explored);
  EXPECT_THAT(explored.trace, testing::Contains(HasSubstr(GetParam().because)))
      << text_of(explored);
}

INSTANTIATE_TEST_SUITE_P(Model, MistakeTest, testing::ValuesIn(kMistakes), name_of_mistake);

}  // namespace
}  // namespace model
