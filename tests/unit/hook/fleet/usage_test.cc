// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/names.h"
#include "tests/support/fake_store.h"
#include "tests/support/outcome.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kDay = 20'783;  // 2026-11-26

class FleetUsageTest : public testing::Test {
 protected:
  Fleet fleet() { return {store_, prefix_, Deadline::after(std::chrono::seconds(5))}; }
  static UsagePart part_of(const std::string& host) {
    UsagePart part{kDay, host, "01234567", "node-" + host, 1'800'000'000'000};
    base::Histogram waits;
    waits.add(300);
    part.lines = {{"vision", "anna", "pod64", 5000, 6000, 2, waits, 4000, 1000},
                  {"", "", "pod16", 1, 0, 0, {}}};
    part.refusals = {{"vision", "anna", "pod64", "no room", 3}};
    part.pools = {{"pod64", {64, true}}, {"cards", {8, false}}};
    part.rooms = {{"pod64", 60'000, 600'000, 400'000, 1'800'000'000'000, 20, 8}};
    return part;
  }
  std::vector<UsagePart> all() {
    auto parts = read_usage(fleet(), kDay, obstacles_).take();
    return parts;
  }
  size_t bytes() {
    const Listing listing = store_.list("/f/usage/", fleet().deadline).take();
    return listing.keys.empty() ? 0 : listing.keys.front().value.size();
  }

  test::FakeStore store_;
  const std::string prefix_ = "/f/";
  std::vector<Error> obstacles_;
};

TEST_F(FleetUsageTest, APartIsReadAsItWasWrittenAndTwiceIsOnce) {
  EXPECT_EQ(day_text(kDay), "2026-11-26");
  ASSERT_TRUE(test::succeeds(write_usage(fleet(), part_of("bbbbbbbb"))));
  ASSERT_TRUE(test::succeeds(write_usage(fleet(), part_of("aaaaaaaa"))));
  ASSERT_TRUE(test::succeeds(write_usage(fleet(), part_of("aaaaaaaa"))));
  EXPECT_EQ(all(), (std::vector<UsagePart>{part_of("aaaaaaaa"), part_of("bbbbbbbb")}));
  EXPECT_THAT(obstacles_, IsEmpty());
}

TEST_F(FleetUsageTest, WhatDoesNotFitIsSummedUp) {
  UsagePart part = part_of("aaaaaaaa");
  int64_t held = 0;
  for (int64_t i = 1; i <= 2000; ++i) {
    const std::string name = str("tenant-", std::string(200, 'x'), i);
    base::Histogram waits;
    waits.add(i * 10);
    part.lines.push_back({name, "u", "pod64", i, 0, 1, waits, i, i});
    part.refusals.push_back({name, "u", "pod64", std::string(400, 'c'), i});
    part.pools[str("pool-", i)] = {1, false};
    part.rooms.push_back({str("pool-", i), 1, 1, 1, 1, 1, 1});
    held += i;
  }
  ASSERT_TRUE(test::succeeds(write_usage(fleet(), part)));
  EXPECT_LE(bytes(), kMaxUsagePart);
  const std::vector<UsagePart> parts = all();
  ASSERT_THAT(parts, SizeIs(1)) << (obstacles_.empty() ? "" : obstacles_.front().message());
  const std::vector<UsageLine>& lines = parts[0].lines;
  ASSERT_GT(lines.size(), 10U);
  EXPECT_EQ(lines.front().tenant, "vision") << "the largest is there";
  EXPECT_EQ(lines.back().tenant, kNameOfOthers);
  int64_t sum = 0;
  int64_t waits = 0;
  for (const UsageLine& line : lines) sum += line.held;
  for (const UsageLine& line : lines) waits += line.waits.count();
  int64_t measured = 0;
  int64_t busy = 0;
  for (const UsageLine& line : lines) measured += line.measured;
  for (const UsageLine& line : lines) busy += line.busy;
  EXPECT_EQ(measured, held + 4000);
  EXPECT_EQ(busy, held + 1000);
  EXPECT_EQ(sum, held + 5001);
  EXPECT_EQ(waits, 2001);
  EXPECT_EQ(parts[0].refusals.back().tenant, kNameOfOthers);
  int64_t refused = 0;
  for (const UsageRefusal& one : parts[0].refusals) refused += one.count;
  EXPECT_EQ(refused, held + 3);
}

TEST_F(FleetUsageTest, ATextThatTheStoreWouldNotTakeIsMadeSafe) {
  UsagePart part = part_of("aaaaaaaa");
  part.refusals[0].cause = "a\nb\x01 \xff";
  ASSERT_TRUE(test::succeeds(write_usage(fleet(), part)));
  EXPECT_THAT(all(), SizeIs(1));
  EXPECT_THAT(obstacles_, IsEmpty());
}

TEST_F(FleetUsageTest, PartsOfADayAreForgottenOfAllHostsAndNoOthers) {
  UsagePart old = part_of("aaaaaaaa");
  for (int i = 0; i < 250; ++i) {
    old.host = str(10'000'000 + i);
    old.day = kDay - 1;
    ASSERT_TRUE(test::succeeds(write_usage(fleet(), old)));
  }
  ASSERT_TRUE(test::succeeds(write_usage(fleet(), part_of("aaaaaaaa"))));
  ASSERT_TRUE(test::succeeds(forget_usage(fleet(), kDay - 1)));
  ASSERT_TRUE(test::succeeds(forget_usage(fleet(), kDay - 1)));
  EXPECT_THAT(read_usage(fleet(), kDay - 1, obstacles_).take(), IsEmpty());
  EXPECT_THAT(all(), SizeIs(1));
}

TEST_F(FleetUsageTest, AFenceAndTheRemovalOfAHostLeaveItsPast) {
  ASSERT_TRUE(test::succeeds(write_usage(fleet(), part_of("aaaaaaaa"))));
  ASSERT_TRUE(test::succeeds(fence(fleet(), "aaaaaaaa", "bbbbbbbb", 1)));
  EXPECT_TRUE(forget_fence(fleet(), "aaaaaaaa").take());
  EXPECT_THAT(all(), SizeIs(1));
}

// Hosts of an earlier release do not say how busy IPUs were. To them, what they do not know is no
// error: they read the members that they know.
TEST_F(FleetUsageTest, APartOfAnEarlierReleaseHasNothingMeasured) {
  const auto put = [&](const std::string& host, const std::string& more) {
    Txn txn;
    txn.puts = {{str("/f/usage/2026-11-26/", host, "/01234567"),
                 str(R"({"name":"n","at_ms":1,"lines":[{"tenant":"a","user":"","pool":"p",)",
                     R"("held":9,"reserved":0,"ended":0,"waits":"")", more,
                     R"(}],"refusals":[],"pools":[],"rooms":[]})")}};
    ASSERT_TRUE(test::succeeds(store_.commit(txn, fleet().deadline)));
  };
  put("aaaaaaaa", "");
  put("bbbbbbbb", R"(,"measured":-8,"busy":0)");
  put("cccccccc", R"(,"measured":8,"busy":9)");
  put("dddddddd", R"(,"measured":8)");
  put("eeeeeeee", R"(,"measured":8,"busy":2,"later":[])");
  const std::vector<UsagePart> parts = all();
  ASSERT_THAT(parts, SizeIs(2)) << "more busy than measured is an error";
  EXPECT_EQ(parts[0].lines[0].measured, 0);
  EXPECT_EQ(parts[1].lines[0].busy, 2);
  EXPECT_THAT(obstacles_, SizeIs(3));
}

TEST_F(FleetUsageTest, WhatIsNoPartIsNamedAndTheOthersAreThere) {
  ASSERT_TRUE(test::succeeds(write_usage(fleet(), part_of("aaaaaaaa"))));
  Txn txn;
  txn.puts = {{"/f/usage/2026-11-26/bbbbbbbb/00000000", "{}"},
              {"/f/usage/2026-11-26/odd", "x"},
              {"/f/usage/2026-11-26/cccccccc/0",
               R"({"name":"n","at_ms":1,"lines":[{"tenant":"a","user":"","pool":"p","held":-1,)"
               R"("reserved":0,"ended":0,"waits":""}],"refusals":[],"pools":[],"rooms":[]})"}};
  ASSERT_TRUE(test::succeeds(store_.commit(txn, fleet().deadline)));
  EXPECT_THAT(all(), SizeIs(1));
  EXPECT_THAT(obstacles_, SizeIs(3));
}

}  // namespace
}  // namespace hook::fleet
