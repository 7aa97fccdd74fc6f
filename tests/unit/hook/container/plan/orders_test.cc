// SPDX-License-Identifier: Apache-2.0
#include "hook/container/plan/orders.h"

#include <gtest/gtest.h>

#include "tests/support/outcome.h"

namespace hook::plan {
namespace {

using base::Code;
using std::chrono::milliseconds;

TEST(AttachOrders, AreReadAsTheyWereWritten) {
  const AttachOrders orders{milliseconds(2000),
                            {{"roce0", "mlx5_0", 1}, {"roce1", "mlx5_1", 2}},
                            milliseconds(25),
                            netns::FilterPlace::kHost,
                            {{"rnic0", netns::Others::kDrop}, {"rnic1", netns::Others::kPass}}};
  const auto read = parse_orders(to_text(orders));
  ASSERT_TRUE(test::succeeds(read));
  EXPECT_EQ(read.value(), orders);
  EXPECT_EQ(parse_orders(to_text(AttachOrders())).value(), AttachOrders());
}

TEST(AttachOrders, KeepEachPlaceOfTheFilter) {
  using netns::FilterPlace;
  for (const FilterPlace place : {FilterPlace::kAuto, FilterPlace::kHost, FilterPlace::kNftables,
                                  FilterPlace::kTc, FilterPlace::kNamespace}) {
    AttachOrders orders;
    orders.filter = place;
    EXPECT_EQ(parse_orders(to_text(orders)).value().filter, place);
  }
}

TEST(AttachOrders, OfAnEarlierReleaseWantNoBorder) {
  const auto read = parse_orders(R"({"gid_wait_ms":1,"probe_ms":1,"ports":[]})");
  ASSERT_TRUE(test::succeeds(read));
  EXPECT_EQ(read.value().filter, netns::FilterPlace::kNamespace);
  EXPECT_TRUE(read.value().parents.empty());
}

TEST(AttachOrders, AreRefusedWithTheKeyThatIsWrong) {
  EXPECT_TRUE(test::fails(parse_orders("{"), Code::kInvalid, "attach.json"));
  EXPECT_TRUE(test::fails(parse_orders("{}"), Code::kInvalid, "gid_wait_ms"));
  EXPECT_TRUE(
      test::fails(parse_orders(R"({"gid_wait_ms":1,"probe_ms":1})"), Code::kInvalid, "ports"));
  EXPECT_TRUE(test::fails(parse_orders(R"({"gid_wait_ms":1,"probe_ms":1,"ports":[{}]})"),
                          Code::kInvalid, "interface"));
  EXPECT_TRUE(test::fails(parse_orders(R"({"gid_wait_ms":1,"probe_ms":1,"filter":"host"})"),
                          Code::kInvalid, "parents"));
}

TEST(ProbeReport, IsReadAsItWasWritten) {
  const ProbeReport report{{"roce0", netns::parse_mac("02:00:0a:05:c8:0a").take()}};
  EXPECT_EQ(parse_probe_report(to_text(report)).take(), report);
  EXPECT_EQ(parse_probe_report(to_text(ProbeReport())).take(), ProbeReport());
}

TEST(ProbeReport, IsRefusedWithoutAMac) {
  EXPECT_TRUE(test::fails(parse_probe_report(R"({"roce0":"x"})"), Code::kInvalid, "probe.json"));
}

}  // namespace
}  // namespace hook::plan
