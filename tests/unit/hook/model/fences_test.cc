// SPDX-License-Identifier: Apache-2.0
// All that can happen between two hosts of a fleet, of which one is declared dead by the other
// while it is slow, dead, or alive again. What asks the store and the controller is the product's;
// the ledgers are the model's. Then the mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tests/support/hook_host.h"
#include "tests/unit/hook/model/fences_model.h"

namespace model::fences {
namespace {

using testing::HasSubstr;

class FencesModelBase {
 protected:
  FencesModelBase() {
    fencer_.config.fleet = hook::config::FleetConfig{{"10.1.0.5:2379"}};
    fencer_.config.fleet->prefix = kPrefix;
    fencer_.env.fleet = [this] { return fencer_.config.fleet; };
    EXPECT_TRUE(test::succeeds(fencer_.ledger.host().be_on({"2222222222222222"})));
    EXPECT_TRUE(test::succeeds(fencer_.ledger.host().join_fleet(kPrefix, kFleetId)));
  }
  Found explore(const Rules& rules, const std::vector<Role>& roles, const Troubles& troubles,
                bool is_filled) {
    FencesModel model({fencer_.env, fencer_.config.pools, rules, roles, is_filled}, troubles);
    return model.run();
  }
  test::HookHost fencer_;
};

std::string text_of(const Found& found) {
  return base::str(found.wrong, ", after\n  ", base::join(found.trace, "\n  "), "\n");
}

struct Case {
  std::string name;
  std::vector<Role> roles;
  Troubles troubles;
  bool is_filled = false;  // there is an idle warm partition
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const std::vector<Role> kOwn = {{Job::kStart, 0}, {Job::kFence, 1}, {Job::kKeep, 0}};
const std::vector<Role> kQueue = {{Job::kStartInQueue, 0}, {Job::kFence, 1}, {Job::kKeep, 0}};
const std::vector<Role> kGcd = {{Job::kStartOnGcd, 0}, {Job::kFence, 1}, {Job::kStartOnGcd, 1}};
const std::vector<Role> kQueueOnce = {{Job::kStartInQueue, 0}, {Job::kFence, 1}};
const std::vector<Role> kGcdAlone = {{Job::kStartOnGcd, 0}, {Job::kFence, 1}, {Job::kKeep, 0}};
const std::vector<Role> kGcdBack = {
    {Job::kStartOnGcd, 0}, {Job::kFence, 1}, {Job::kKeep, 0}, {Job::kStartOnGcd, 1}};
const std::vector<Role> kGcdGc = {{Job::kStartOnGcd, 0}, {Job::kStartOnGcd, 1}, {Job::kCollect, 0}};
const std::vector<Role> kBothStart = {
    {Job::kStart, 0}, {Job::kFence, 1}, {Job::kKeep, 0}, {Job::kStart, 1}};
const std::vector<Role> kCollected = {
    {Job::kStart, 0}, {Job::kFence, 1}, {Job::kKeep, 0}, {Job::kCollect, 1}};

const std::vector<Role> kTakeTwice = {{Job::kStartWarm, 0}, {Job::kStartWarm, 1}};
const std::vector<Role> kTakeFenced = {{Job::kStartWarm, 0}, {Job::kFence, 1}, {Job::kKeep, 0}};
const std::vector<Role> kTakeRemoved = {{Job::kStartWarm, 0}, {Job::kGiveBack, 1}};
const std::vector<Role> kRefillFenced = {{Job::kRefill, 0}, {Job::kFence, 1}, {Job::kKeep, 0}};
const std::vector<Role> kRefillBoth = {{Job::kRefill, 0}, {Job::kRefill, 1}};
const std::vector<Role> kRefillTaken = {{Job::kRefill, 0}, {Job::kStartWarm, 1}};
const std::vector<Role> kRefillGc = {{Job::kRefill, 0}, {Job::kCollect, 0}, {Job::kGiveBack, 1}};
const std::vector<Role> kRemovedFenced = {
    {Job::kGiveBack, 0}, {Job::kFence, 1}, {Job::kStartWarm, 1}};
const std::vector<Role> kReserved = {{Job::kReserve, 0}, {Job::kFence, 1}, {Job::kKeep, 0}};
const std::vector<Role> kReservedUsed = {
    {Job::kReserve, 0}, {Job::kStartReserved, 0}, {Job::kEndReserved, 0}, {Job::kCollect, 0}};
const std::vector<Role> kReservedFenced = {
    {Job::kReserve, 0}, {Job::kStartReserved, 0}, {Job::kFence, 1}};
const std::vector<Role> kReservedAll = {{Job::kReserve, 0},
                                        {Job::kStartReserved, 0},
                                        {Job::kEndReserved, 0},
                                        {Job::kFence, 1},
                                        {Job::kKeep, 0}};

std::vector<Case> chosen_cases() {
  std::vector<Case> cases = {{"OwnIpus", kOwn, {1, 0, 0, 1}},
                             {"OwnIpusLost", kOwn, {0, 1, 1, 0}},
                             {"Queue", kQueue, {0, 0, 1, 1}},
                             {"QueueLost", kQueueOnce, {0, 1, 0, 1}},
                             {"Gcd", kGcd, {0, 1, 0, 1}},
                             {"GcdKilled", kGcd, {1, 0, 1, 0}},
                             {"GcdBack", kGcdAlone, {0, 1, 1, 0}},
                             {"GcdWithGc", kGcdGc, {0, 1, 1, 0}},
                             {"TakeTwice", kTakeTwice, {1, 1, 1, 0}, true},
                             {"TakeFenced", kTakeFenced, {0, 0, 0, 1}, true},
                             {"TakeRemoved", kTakeRemoved, {1, 1, 1, 0}, true},
                             {"RefillFenced", kRefillFenced, {0, 1, 0, 1}},
                             {"RefillBoth", kRefillBoth, {1, 1, 1, 0}},
                             {"RefillTaken", kRefillTaken, {1, 1, 1, 0}},
                             {"RefillGc", kRefillGc, {0, 1, 1, 0}},
                             {"RemovedFenced", kRemovedFenced, {0, 0, 0, 1}, true},
                             {"Reserved", kReserved, {0, 1, 0, 1}},
                             {"ReservedUsed", kReservedUsed, {1, 1, 0, 0}},
                             {"ReservedFenced", kReservedFenced, {0, 1, 0, 1}}};
  const char* const wanted = std::getenv("MODEL");
  if (wanted != nullptr && std::string_view(wanted) == "all") {
    cases.push_back({"OwnIpusAll", kOwn, {1, 1, 2, 1}});
    cases.push_back({"QueueAll", kQueue, {0, 1, 1, 1}});
    cases.push_back({"GcdAll", kGcdBack, {0, 0, 0, 1}});
    cases.push_back({"BothStartAll", kBothStart, {0, 0, 0, 1}});
    cases.push_back({"CollectedAll", kCollected, {0, 0, 0, 1}});
    cases.push_back({"TakeFencedAll", kTakeFenced, {1, 1, 1, 1}, true});
    cases.push_back({"RefillFencedAll", kRefillFenced, {1, 1, 1, 1}});
    cases.push_back({"RemovedFencedAll", kRemovedFenced, {1, 1, 1, 1}, true});
    cases.push_back({"ReservedAll", kReservedAll, {0, 1, 0, 1}});
  }
  return cases;
}

class FencesModelTest : public testing::TestWithParam<Case>, protected FencesModelBase {};

TEST_P(FencesModelTest, HoldsInEveryStateThatCanBeReached) {
  const Found found = explore({}, GetParam().roles, GetParam().troubles, GetParam().is_filled);
  std::puts(
      base::str("states explored ", found.states, ", transitions ", found.transitions).c_str());
  EXPECT_EQ(found.wrong, "") << text_of(found);
}

INSTANTIATE_TEST_SUITE_P(Fences, FencesModelTest, testing::ValuesIn(chosen_cases()),
                         [](const auto& each) { return each.param.name; });

struct Mistake {
  std::string name;
  bool Rules::*rule;
  std::vector<Role> roles;
  Troubles troubles;
  std::string wrong;
  bool is_filled = false;
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

const Mistake kMistakes[] = {
    {"KeysBeforePartition",
     &Rules::removes_partitions_first,
     kOwn,
     {},
     "there is a partition that the store does not know"},
    {"PartitionsListedBeforeTheFence",
     &Rules::lists_after_fence,
     kOwn,
     {},
     "there is a partition that the store does not know"},
    {"GrantBeforePartition",
     &Rules::keeps_grant_of_partition,
     kOwn,
     {1, 0, 0, 0},
     "there is a partition that the store does not know"},
    {"ClaimWithoutCompare", &Rules::compares_records, kGcdGc, {}, "two containers have one GCD"},
    {"FencedHostGetsMore",
     &Rules::compares_fences,
     kOwn,
     {},
     "a host that was declared dead gets something"},
    {"GcTrustsAnOldRead",
     &Rules::reads_ledger_last,
     kGcdGc,
     {},
     "a container has what the store does not know"},
    {"FenceIgnored",
     &Rules::obeys_fence,
     kOwn,
     {0, 0, 1, 0},
     "a container of a host that was declared dead runs on after its beat"},
    {"WarmTakenWithoutCompare",
     &Rules::compares_warm,
     kTakeTwice,
     {},
     "a partition is removed under a container",
     true},
    {"WarmRemovedWithoutCompare",
     &Rules::compares_warm,
     kTakeRemoved,
     {},
     "two have one warm partition",
     true},
    {"WarmRemovedBeforeTheStoreIsTold",
     &Rules::tells_before_removal,
     kTakeRemoved,
     {},
     "a partition is removed under a container",
     true},
    {"WarmTakenBeforeTheLease",
     &Rules::records_first,
     kTakeTwice,
     {0, 0, 1, 0},
     "a partition is left",
     true},
    {"FenceForgetsWarmRecords",
     &Rules::forgets_warm,
     kRefillFenced,
     {},
     "a fence is finished, and a warm record is left"},
    {"FenceLeavesWarmPartitions",
     &Rules::fences_warm,
     kRefillFenced,
     {},
     "there is a warm partition that the store does not know"},
    {"GrantGoesBeforeTheWarmPartition",
     &Rules::reads_grants,
     kTakeTwice,
     {0, 1, 0, 0},
     "there is a warm partition that the store does not know",
     true},
    {"GrantOfAHalfMadeReservationGoes",
     &Rules::keeps_grant_of_reservation,
     kReservedUsed,
     {1, 1, 0, 0},
     "there is a partition that the store does not know"},
    {"ReservationRecordedLast",
     &Rules::records_first,
     kReserved,
     {0, 0, 1, 0},
     "a partition is left"},
};

class FencesMistakeTest : public testing::TestWithParam<Mistake>, protected FencesModelBase {};

TEST_P(FencesMistakeTest, IsFound) {
  Rules rules;
  rules.*GetParam().rule = false;
  const Found found = explore(rules, GetParam().roles, GetParam().troubles, GetParam().is_filled);
  EXPECT_THAT(found.wrong, testing::StartsWith(GetParam().wrong)) << text_of(found);
}

INSTANTIATE_TEST_SUITE_P(Fences, FencesMistakeTest, testing::ValuesIn(kMistakes),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace model::fences
