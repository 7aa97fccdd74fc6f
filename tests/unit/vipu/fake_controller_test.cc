// SPDX-License-Identifier: Apache-2.0
// What the fake can be told, beyond the contract of vipu::Controller.
#include "tests/support/fake_controller.h"

#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/support/outcome.h"

namespace vipu {
namespace {

using namespace base::names;

Deadline shortly() { return Deadline::after(std::chrono::seconds(10)); }

TEST(FakeControllerTest, FailsTheNextCallBeforeOrAfterItsEffect) {
  test::FakeController fake;
  fake.fail_next({Code::kInternal, "before"});
  EXPECT_TRUE(test::fails(fake.create({"p0", 4}, shortly()), Code::kInternal, "before"));
  EXPECT_TRUE(fake.list(shortly()).take().empty());
  fake.fail_next({Code::kInternal, "after"}, test::FakeController::When::kAfter);
  EXPECT_TRUE(test::fails(fake.create({"p0", 4}, shortly()), Code::kInternal, "after"));
  EXPECT_EQ(fake.list(shortly()).take().size(), 1U);
}

TEST(FakeControllerTest, ATornPartitionIsInErrorUntilItIsReset) {
  test::FakeController fake;
  ASSERT_TRUE(test::succeeds(fake.create({"p0", 4}, shortly())));
  fake.tear("p0", "link down");
  EXPECT_EQ(fake.status("p0", shortly()).take().ready, ReadyState::kError);
  EXPECT_TRUE(test::fails(fake.wait("p0", shortly()), Code::kInternal, "link down"));
  EXPECT_TRUE(test::fails(fake.config("p0", 0, shortly()), Code::kNotFound));
  EXPECT_TRUE(test::fails(fake.remove("p0", Force::kNo, shortly()), Code::kBusy));
  EXPECT_TRUE(test::succeeds(fake.reset("p0", Relocate::kNo, shortly())));
  EXPECT_EQ(fake.status("p0", shortly()).take().ready, ReadyState::kActive);
  fake.tear("p0", "link down");
  EXPECT_TRUE(test::succeeds(fake.remove("p0", Force::kYes, shortly())));
}

TEST(FakeControllerTest, CountsResetsAndKeepsTheLastRequest) {
  test::FakeController fake;
  EXPECT_EQ(fake.resets("p0"), 0U);
  PartitionRequest request{"p0", 4};
  request.cluster = "cluster";
  ASSERT_TRUE(test::succeeds(fake.create(request, shortly())));
  EXPECT_EQ(fake.last_request(), request);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(test::succeeds(fake.reset("p0", Relocate::kNo, shortly())));
  }
  EXPECT_EQ(fake.resets("p0"), 2U);
}

TEST(FakeControllerTest, TaintedIpusAreNotGiven) {
  test::FakeController fake(4);
  fake.pool().tainted.push_back({{0, 0}, "bad"});
  EXPECT_TRUE(test::fails(fake.create({"p0", 4}, shortly()), Code::kBusy));
  EXPECT_EQ(fake.survey(shortly()).take().tainted.size(), 1U);
}

}  // namespace
}  // namespace vipu
