// SPDX-License-Identifier: Apache-2.0
// All that can happen between two hosts that share a controller and no store: names, lost and late
// answers, hosts that lose power and are fenced, lost and copied ledgers. Then the mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tests/unit/hook/model/explorer.h"
#include "tests/unit/hook/model/hosts_model.h"

namespace model::hosts {
namespace {

using testing::HasSubstr;

Explored explore(const Rules& rules, const Bounds& bounds) {
  constexpr uint32_t kMostStates = 20'000'000;
  const HostsModel model(rules, bounds);
  return Explorer<HostsModel>(model).run(kMostStates);
}

std::string text_of(const Explored& explored) {
  return base::str(explored.wrong, ", after\n  ", base::join(explored.trace, "\n  "), "\n");
}

constexpr Bounds kNames{1, 1, false, false, false};
constexpr Bounds kFences{1, 0, true, false, false};
constexpr Bounds kDiskless{1, 0, true, true, false};
constexpr Bounds kCopies{1, 0, false, false, true};

struct Case {
  std::string name;
  Bounds bounds;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class HostsModelTest : public testing::TestWithParam<Case> {};

TEST_P(HostsModelTest, HoldsInEveryStateThatCanBeReached) {
  const Explored explored = explore({}, GetParam().bounds);
  std::puts(base::str("states explored ", explored.states, ", transitions ", explored.transitions,
                      ", depth ", explored.depth)
                .c_str());
  EXPECT_EQ(explored.wrong, "") << text_of(explored);
  EXPECT_TRUE(explored.complete);
}

std::vector<Case> chosen_cases() {
  std::vector<Case> cases = {
      {"Names", kNames}, {"Fences", kFences}, {"Diskless", kDiskless}, {"Copies", kCopies}};
  const char* const wanted = std::getenv("MODEL");
  if (wanted != nullptr && std::string_view(wanted) == "all") {
    cases.push_back({"NamesAgain", {1, 2, false, false, false}});
    cases.push_back({"NamesOfCopies", {1, 1, false, false, true}});
    cases.push_back({"FencesOfTwoStarts", {2, 0, true, false, false}});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Hosts, HostsModelTest, testing::ValuesIn(chosen_cases()),
                         [](const auto& each) { return each.param.name; });

struct Mistake {
  std::string name;
  bool Rules::*rule;
  Bounds bounds;
  std::string wrong;
  std::string because;  // a step of the shortest way there
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

constexpr const char* kTaken = "a partition is taken from a container that runs";
constexpr const char* kRemoved = "a partition of another host is removed";

const Mistake kMistakes[] = {
    {"LedgerOfAnotherHostAtWork", &Rules::knows_its_host, kCopies, kRemoved, "copy"},
    {"NamesWithoutHost", &Rules::names_say_host, kDiskless, kRemoved, "before this boot"},
    {"RebuildUnderTheOldDigits", &Rules::rebuilds_as_itself, kCopies, kRemoved, "rebuilds"},
    {"FoundNameTakenForOwn", &Rules::doubts_found_names, kNames,
     "a container uses a partition of another host", "finds a partition"},
    {"GcRemovesPeoplesNames", &Rules::leaves_names_to_people, kNames, kRemoved, "gc removes train"},
    {"RemovalRepeated", &Rules::removes_names_once, kNames, kRemoved, "repeats the removal"},
    {"LedgerAskedFirst", &Rules::asks_ledger_last, kDiskless, kTaken, "before this boot"},
    {"FenceBeforeRemoval", &Rules::removes_before_fence, kFences,
     "a host is fenced, and a partition of it is left", "is dead"},
};

class HostsMistakeTest : public testing::TestWithParam<Mistake> {};

TEST_P(HostsMistakeTest, IsFound) {
  Rules rules;
  rules.*GetParam().rule = false;
  const Explored explored = explore(rules, GetParam().bounds);
  EXPECT_EQ(explored.wrong, GetParam().wrong) << text_of(explored);
  EXPECT_THAT(explored.trace, testing::Contains(HasSubstr(GetParam().because)))
      << text_of(explored);
}

INSTANTIATE_TEST_SUITE_P(Hosts, HostsMistakeTest, testing::ValuesIn(kMistakes),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace model::hosts
