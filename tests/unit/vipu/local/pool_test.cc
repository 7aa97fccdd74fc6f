// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/pool.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/outcome.h"
#include "vipu/placement.h"

namespace vipu::local {
namespace {

using base::Code;
using Numbers = std::vector<uint32_t>;

// Two domains, of 4 and of 3 IPUs: "a" to "g".
Pool make_pool() {
  Pool pool;
  pool.domains = {4, 3};
  pool.ipus = {"a", "b", "c", "d", "e", "f", "g"};
  pool.number_of = [](const IpuPlace& name) { return Topology({4, 3}).number_of(name); };
  return pool;
}

base::Result<Numbers> choose_named(const Pool& pool, const std::vector<Record>& records,
                                   const std::vector<IpuPlace>& places, uint32_t size = 0) {
  PartitionRequest request{"p", size};
  for (const IpuPlace& place : places) request.ipus.push_back({place});
  return choose(pool, survey_of(pool, records), request);
}

TEST(LocalPoolTest, SurveyHasThePlacesAndWhatIsGoneIsInError) {
  const Survey survey = survey_of(make_pool(), {{"p0", {"c", "d"}}, {"p1", {"x", "e"}}});
  EXPECT_EQ(survey.domains, (Numbers{4, 3}));
  ASSERT_EQ(survey.partitions.size(), 2U);
  EXPECT_EQ(survey.partitions[0].ipus, (std::vector<IpuPlace>{{0, 2}, {0, 3}}));
  EXPECT_EQ(survey.partitions[0].ready, ReadyState::kActive);
  EXPECT_EQ(survey.partitions[1].ipus, (std::vector<IpuPlace>{{1, 0}, kGone}));
  EXPECT_EQ(survey.partitions[1].ready, ReadyState::kError);
}

TEST(LocalPoolTest, WhatAPartitionInErrorStillHasIsNotFree) {
  const Pool pool = make_pool();
  const std::vector<Record> records{{"p1", {"x", "a"}}};
  EXPECT_EQ(choose(pool, survey_of(pool, records), {"p", 1}).take(), (Numbers{1}));
}

TEST(LocalPoolTest, ASizeTakesAFreeBlockOfOneDomain) {
  const Pool pool = make_pool();
  EXPECT_EQ(choose(pool, survey_of(pool, {}), {"p", 4}).take(), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(choose(pool, survey_of(pool, {}), {"p", 2}).take(), (Numbers{4, 5}));
  EXPECT_TRUE(test::fails(choose(pool, survey_of(pool, {{"q", {"a"}}}), {"p", 4}), Code::kBusy,
                          "largest free: 2"));
  for (const uint32_t size : {0U, 3U, 8U}) {
    EXPECT_TRUE(test::fails(choose(pool, survey_of(pool, {}), {"p", size}), Code::kInvalid));
  }
}

TEST(LocalPoolTest, WhatIsPinnedForAnotherRequestIsInUse) {
  const Pool pool = make_pool();
  const Survey survey = survey_of(pool, {{"q", {"a"}}});
  PartitionRequest request{"p", 2};
  request.pinned = Block{0, 4};
  EXPECT_EQ(choose(pool, survey, request).take(), (Numbers{4, 5}))
      << "no place for the pinned size";
  request.ipus = {{{0, 2}}, {{0, 3}}};
  EXPECT_TRUE(test::fails(choose(pool, survey, request), Code::kBusy,
                          "is held by 'the request that waits first'"));
  request = {.id = "p", .size = 1, .pinned = Block{8, 4}};
  EXPECT_TRUE(test::fails(choose(pool, survey, request), Code::kBusy, "no free block of 1 IPU"))
      << "the pool has no such block any more";
}

TEST(LocalPoolTest, NamedIpusAreOneAlignedBlockOrWholeDomains) {
  const Pool pool = make_pool();
  EXPECT_EQ(choose_named(pool, {}, {{0, 3}, {0, 2}}).take(), (Numbers{2, 3}));
  EXPECT_EQ(choose_named(pool, {}, {{1, 2}}).take(), (Numbers{6}));
  EXPECT_EQ(choose_named(pool, {}, {{1, 0}, {1, 1}, {1, 2}}).take(), (Numbers{4, 5, 6}));
  EXPECT_EQ(choose_named(pool, {}, {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2}})
                .take()
                .size(),
            7U);
  const std::vector<IpuPlace> refused[] = {{{0, 1}, {0, 2}},
                                           {{0, 0}, {0, 2}},
                                           {{0, 0}, {0, 1}, {0, 2}},
                                           {{0, 3}, {1, 0}},
                                           {{1, 0}, {1, 1}, {1, 2}, {0, 0}}};
  for (const std::vector<IpuPlace>& places : refused) {
    EXPECT_TRUE(test::fails(choose_named(pool, {}, places), Code::kInvalid, "neither one block"));
  }
}

TEST(LocalPoolTest, NamedIpusThatCannotBeAreInvalid) {
  const Pool pool = make_pool();
  EXPECT_TRUE(test::fails(choose_named(pool, {}, {{1, 3}}), Code::kInvalid, "no IPU 1:3"));
  EXPECT_TRUE(test::fails(choose_named(pool, {}, {{0, 0}, {0, 0}}), Code::kInvalid, "twice"));
  EXPECT_TRUE(test::fails(choose_named(pool, {}, {{0, 0}}, 2), Code::kInvalid, "size 2"));
  EXPECT_TRUE(test::succeeds(choose_named(pool, {}, {{0, 0}}, 1)));
}

TEST(LocalPoolTest, NamedIpusMustBeFreeAndUntainted) {
  Pool pool = make_pool();
  taint(pool, 1, "bad link");
  EXPECT_TRUE(test::fails(choose_named(pool, {{"q", {"a"}}}, {{0, 0}}), Code::kBusy,
                          "IPU 0:0 ('a') is held by 'q'"));
  EXPECT_TRUE(test::fails(choose_named(pool, {}, {{0, 1}}), Code::kDenied, "bad link"));
}

TEST(LocalPoolTest, ATaintIsKeptOnceAndOnlyInThePool) {
  Pool pool = make_pool();
  taint(pool, 5, "first");
  taint(pool, 5, "second");
  taint(pool, 7, "outside");
  EXPECT_EQ(pool.tainted, (std::vector<TaintedIpu>{{{1, 1}, "first"}}));
}

TEST(LocalPoolTest, AnIpuIsTaintedByItsNameWhereverItIs) {
  Pool pool = make_pool();
  taint(pool, {{"f", "hot"}, {"x", "is gone"}, {"f", "later"}});
  EXPECT_EQ(pool.tainted, (std::vector<TaintedIpu>{{{1, 1}, "hot"}}));
}

TEST(LocalPoolTest, WhatALocalPoolCannotChooseIsRefusedByName) {
  const auto refuses = [](const PartitionRequest& request, const char* field) {
    EXPECT_TRUE(test::fails(check_request(request), Code::kUnsupported, field));
  };
  refuses({.id = "p", .cluster = "c"}, "cluster");
  refuses({.id = "p", .allocation = "a"}, "allocation");
  refuses({.id = "p", .link_routing = LinkRouting::kDnc}, "link routing");
  refuses({.id = "p", .gateway_routing = GatewayRouting::kRing}, "gateway routing");
  refuses({.id = "p", .sync = SyncType::kGs2Default}, "sync type");
  refuses({.id = "p", .segments = 2}, "segments");
  refuses({.id = "p", .gcds = 2}, "GCDs");
  refuses({.id = "p", .replicas = 2}, "replicas");
  EXPECT_TRUE(test::succeeds(check_request({.id = "p",
                                            .reconfigurable = true,
                                            .segments = 1,
                                            .gcds = 1,
                                            .replicas = 1,
                                            .disable_auto_reset = true,
                                            .relocatable = true})));
  EXPECT_TRUE(test::fails(check_request({.id = "p/0"}), Code::kInvalid, "'p/0'"));
}

}  // namespace
}  // namespace vipu::local
