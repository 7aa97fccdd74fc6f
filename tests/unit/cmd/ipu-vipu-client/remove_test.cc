// SPDX-License-Identifier: Apache-2.0
// Removing and resetting a partition through ipu-vipu-client when the controller fails on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/unit/cmd/ipu-vipu-client/rig.h"

namespace vipu {
namespace {

using namespace base::names;
using base::Removed;
using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A name that the toolkit gave, and that no other host gives.
constexpr const char* kOwn = "c-1f2e3d4c-0123456789ab";

class ClientRemoveTest : public ClientTest {
 protected:
  void SetUp() override { server().add(partition(kOwn, 4)); }

  void expect_removed(Force force = Force::kNo) {
    const auto removed = controller().remove(kOwn, force, soon());
    ASSERT_TRUE(test::succeeds(removed));
    EXPECT_EQ(removed.value(), Removed::kNow);
    EXPECT_THAT(server().partitions(), IsEmpty());
    server().add(partition(kOwn, 4));
  }
};

TEST_F(ClientRemoveTest, SaysWhetherThereWasOne) {
  EXPECT_EQ(controller().remove(kOwn, Force::kNo, soon()).take(), Removed::kNow);
  EXPECT_EQ(controller().remove(kOwn, Force::kNo, soon()).take(), Removed::kWasAbsent);
}

TEST_F(ClientRemoveTest, IsTriedAgainAndIsDoneWhenAnEarlierAttemptDidIt) {
  for (const StatusCode code : {StatusCode::UNAVAILABLE, StatusCode::ABORTED, StatusCode::INTERNAL,
                                StatusCode::UNKNOWN, StatusCode::CANCELLED}) {
    server().script("RemovePartition", {failing(code)});
    expect_removed();
    if (code == StatusCode::ABORTED) continue;  // says that nothing was done
    server().script("RemovePartition", {failing(code, When::kAfter)});
    expect_removed();
  }
}

TEST_F(ClientRemoveTest, AHangIsTriedAgain) {
  for (const When when : {When::kBefore, When::kAfter}) {
    server().script("RemovePartition", {hanging(when)});
    const auto removed = controller().remove(kOwn, Force::kNo, Deadline::after(milliseconds(5000)));
    ASSERT_TRUE(test::succeeds(removed));
    EXPECT_EQ(removed.value(), Removed::kNow);
    server().add(partition(kOwn, 4));
  }
}

TEST_F(ClientRemoveTest, ForceIsUsedOnlyWhereItIsGivenAndNeeded) {
  expect_removed(Force::kYes);
  EXPECT_FALSE(server().forced());
  server().script("RemovePartition", {failing(StatusCode::FAILED_PRECONDITION)});
  EXPECT_TRUE(test::fails(controller().remove(kOwn, Force::kNo, soon()), Code::kBusy,
                          "(FAILED_PRECONDITION after"));
  EXPECT_THAT(server().partitions(), ElementsAre(kOwn));
  server().script("RemovePartition", {failing(StatusCode::FAILED_PRECONDITION)});
  expect_removed(Force::kYes);
  EXPECT_TRUE(server().forced());
}

// The controller may refuse because it is removing the partition already.
TEST_F(ClientRemoveTest, ARefusalAfterALostAnswerSaysNothing) {
  server().script("RemovePartition",
                  {failing(StatusCode::INTERNAL), failing(StatusCode::FAILED_PRECONDITION)});
  EXPECT_TRUE(test::fails(controller().remove(kOwn, Force::kNo, soon()), Code::kTimeout,
                          "(FAILED_PRECONDITION after"));
}

TEST_F(ClientRemoveTest, WhatIsNotAllowedIsNotForced) {
  server().always("RemovePartition", failing(StatusCode::PERMISSION_DENIED));
  EXPECT_TRUE(test::fails(controller().remove(kOwn, Force::kYes, soon()), Code::kDenied));
  EXPECT_EQ(server().calls("RemovePartition"), 1);
}

TEST_F(ClientRemoveTest, WaitsUntilItIsNoLongerListed) {
  server().keep_listed(3);
  EXPECT_EQ(controller().remove(kOwn, Force::kNo, soon()).take(), Removed::kNow);
  EXPECT_EQ(server().calls("ListPartitions"), 4);
  server().add(partition(kOwn, 4));
  server().keep_listed(1'000'000);
  const std::string expected =
      "wait until gone: the controller did not remove the partition within 27";
  std::string said;
  // A look that the deadline cuts short says that there was no answer.
  for (int attempt = 0; attempt < 3 && said.find(expected) == said.npos; ++attempt) {
    const auto removed = controller().remove(kOwn, Force::kNo, Deadline::after(milliseconds(3000)));
    ASSERT_TRUE(test::fails(removed, Code::kTimeout));
    said = removed.error().message();
  }
  EXPECT_THAT(said, HasSubstr(expected));  // 2750 ms or less
}

TEST_F(ClientRemoveTest, ADeadControllerIsUnavailable) {
  const auto dead = controller_at({"127.0.0.1:1"});
  EXPECT_TRUE(test::fails(dead->remove(kOwn, Force::kYes, soon()), Code::kUnavailable));
  EXPECT_TRUE(test::fails(dead->reset(kOwn, Relocate::kNo, soon()), Code::kUnavailable));
}

// People on another host may have given the name to a new partition since then.
TEST_F(ClientRemoveTest, OfANameThatPeopleChooseIsNotRepeatedAfterALostAnswer) {
  for (const StatusCode code : {StatusCode::INTERNAL, StatusCode::UNKNOWN, StatusCode::CANCELLED}) {
    server().add(partition("train", 4));
    const int before = server().calls("RemovePartition");
    server().script("RemovePartition", {failing(code)});
    EXPECT_TRUE(test::fails(controller().remove("train", Force::kYes, soon()), Code::kTimeout,
                            "repeat the removal if it is yours"));
    EXPECT_EQ(server().calls("RemovePartition"), before + 1);
    EXPECT_THAT(server().partitions(), ElementsAre(kOwn, "train"));
    server().script("RemovePartition", {failing(code, When::kAfter)});
    server().keep_listed(3);
    EXPECT_EQ(controller().remove("train", Force::kNo, soon()).take(), Removed::kNow);
    EXPECT_THAT(server().partitions(), ElementsAre(kOwn));
  }
}

TEST_F(ClientRemoveTest, OfANameThatPeopleChooseIsRepeatedIfNothingWasDone) {
  server().add(partition("train", 4));
  server().script("RemovePartition", {failing(StatusCode::ABORTED)});
  EXPECT_EQ(controller().remove("train", Force::kNo, soon()).take(), Removed::kNow);
}

class ClientResetTest : public ClientRemoveTest {};

// The list is behind, or the answer is wrong.
TEST_F(ClientRemoveTest, WhatIsNotFoundButListedIsLookedForAgain) {
  server().add(partition(kOwn, 4));
  server().script("RemovePartition", {failing(StatusCode::NOT_FOUND)});
  EXPECT_EQ(controller().remove(kOwn, Force::kNo, soon()).value(), base::Removed::kNow);
  EXPECT_THAT(server().partitions(), IsEmpty());
  EXPECT_FALSE(server().forced());
}

TEST_F(ClientRemoveTest, WhatWasRemovedWithoutAnAnswerIsWaitedForWhileItIsListed) {
  server().add(partition(kOwn, 4));
  server().script("RemovePartition", {failing(StatusCode::UNAVAILABLE, When::kAfter)});
  server().keep_listed(4);
  EXPECT_EQ(controller().remove(kOwn, Force::kYes, soon()).value(), base::Removed::kNow);
  EXPECT_FALSE(server().forced());
}

TEST_F(ClientResetTest, WaitsUntilThePartitionIsActiveAgain) {
  server().script_status({state(virmgrpc::PS_PENDING, virmgrpc::POS_RESETTING),
                          state(virmgrpc::PS_ACTIVE, virmgrpc::POS_RESETTING),
                          state(virmgrpc::PS_ACTIVE, virmgrpc::POS_IDLE)});
  EXPECT_TRUE(test::succeeds(controller().reset(kOwn, Relocate::kNo, soon())));
  EXPECT_EQ(server().calls("GetPartitionStatus"), 3);
}

TEST_F(ClientResetTest, IsAskedForAgainWhereNoneIsToBeSeen) {
  server().script("ResetPartition", {failing(StatusCode::UNAVAILABLE)});
  EXPECT_TRUE(test::succeeds(controller().reset(kOwn, Relocate::kNo, soon())));
  EXPECT_EQ(server().calls("ResetPartition"), 2);
}

TEST_F(ClientResetTest, IsNotAskedForAgainWhileItGoesOn) {
  server().script("ResetPartition", {failing(StatusCode::UNAVAILABLE, When::kAfter)});
  server().script_status({state(virmgrpc::PS_PENDING, virmgrpc::POS_RESETTING),
                          state(virmgrpc::PS_ACTIVE, virmgrpc::POS_IDLE)});
  EXPECT_TRUE(test::succeeds(controller().reset(kOwn, Relocate::kNo, soon())));
  EXPECT_EQ(server().calls("ResetPartition"), 1);
}

TEST_F(ClientResetTest, WhatCannotBeResetIsAnError) {
  EXPECT_TRUE(test::fails(controller().reset("p1", Relocate::kNo, soon()), Code::kNotFound));
  server().script("ResetPartition", {failing(StatusCode::FAILED_PRECONDITION)});
  EXPECT_TRUE(test::fails(controller().reset(kOwn, Relocate::kYes, soon()), Code::kBusy));
  virmgrpc::PartitionStatus failed = state(virmgrpc::PS_ERROR, virmgrpc::POS_FAILED);
  failed.add_errors("link 3 is down");
  server().script_status({failed});
  EXPECT_TRUE(test::fails(controller().reset(kOwn, Relocate::kNo, soon()), Code::kInternal,
                          "link 3 is down"));
}

}  // namespace
}  // namespace vipu
