// SPDX-License-Identifier: Apache-2.0
// Partitions of names that people gave, after a request was cut short.
#include "tests/unit/hook/lifecycle/partitions/named_fixture.h"

namespace hook::lifecycle::partitions {
namespace {

class UnsureTest : public NamedFixture {};

// Between the removal and the answer that was lost, another host may have taken the name.
TEST_F(UnsureTest, WhoseRemovalGotNoAnswerIsRemovedByAPersonOnly) {
  make(wanted("p0", 4));
  host_.controller.fail_next(base::Error(Code::kTimeout, "no answer"));
  EXPECT_TRUE(test::fails(remove("p0"), Code::kTimeout, "no answer"));
  EXPECT_TRUE(test::fails(start("web", "p0"), Code::kNotFound, "in this host's ledger"));
  expect_left_to_a_person("its removal here was cut short");
  ASSERT_TRUE(test::succeeds(remove("p0")));
  EXPECT_FALSE(record("p0").has_value());
}

TEST_F(UnsureTest, WhoseRemovalWasCarriedOutWithoutAnAnswerIsForgotten) {
  make(wanted("p0", 4));
  host_.controller.fail_next(base::Error(Code::kTimeout, "no answer"),
                             test::FakeController::When::kAfter);
  EXPECT_TRUE(test::fails(remove("p0"), Code::kTimeout, "no answer"));
  EXPECT_THAT(host_.partitions(), IsEmpty());
  ASSERT_THAT(end::reconcile(host_.env, soon()).take().obstacles, IsEmpty());
  EXPECT_FALSE(record("p0").has_value());
}

// Another host may have made the partition that has the name now.
TEST_F(UnsureTest, WhoseCreationGotNoAnswerIsLeftToAPerson) {
  NewPartition unsure = wanted("p0", 4);
  unsure.wait = false;
  host_.before_create = [&] {
    host_.controller.fail_next(base::Error(Code::kTimeout, "no answer"),
                               test::FakeController::When::kAfter);
  };
  EXPECT_TRUE(test::fails(create_partition(host_.env, unsure, soon()), Code::kTimeout,
                          "'ipuctl partition remove p0' removes it"));
  host_.before_create = [] {};
  expect_left_to_a_person("its creation here was cut short");
  EXPECT_TRUE(test::fails(create_partition(host_.env, wanted("p0", 4), soon()), Code::kBusy,
                          "may be another host's"));
  EXPECT_TRUE(test::fails(reset("p0"), Code::kBusy, "so it is not reset"));
  ASSERT_TRUE(test::succeeds(adopt("p0")));
  EXPECT_EQ(record("p0")->kind, ledger::PartitionKind::kForeign);
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
}

TEST_F(UnsureTest, WhoseCreationWasCutShortCanBeMadeAgainIfItWasNotMade) {
  intend_and_die(base::unix_millis());
  make(wanted("p0", 4));
  EXPECT_EQ(record("p0")->state, ledger::PartitionState::kReady);
}

// The request that was cut short may still be carried out, so the ledger always has the name.
TEST_F(UnsureTest, WhoseCreationWasCutShortStaysRecordedIfItCannotBeMadeAgain) {
  intend_and_die(base::unix_millis());
  host_.before_create = [&] { host_.controller.fail_next(base::Error(Code::kBusy, "no room")); };
  EXPECT_TRUE(test::fails(create_partition(host_.env, wanted("p0", 4), soon()), Code::kBusy,
                          "'ipuctl partition remove p0' removes it"));
  host_.before_create = [] {};
  ASSERT_TRUE(host_.controller.create({"p0", 4}, soon()).ok());
  expect_left_to_a_person("its creation here was cut short");
}

// The controller said that it made the partition: it is this host's.
TEST_F(UnsureTest, ThatWasMadeAndNeverBecomesActiveIsRemoved) {
  host_.controller.set_create_delay(std::chrono::hours(1));
  EXPECT_TRUE(test::fails(create_partition(host_.env, wanted("p0", 4), soon()), Code::kTimeout));
  EXPECT_FALSE(record("p0").has_value());
  EXPECT_THAT(host_.partitions(), IsEmpty());
}

TEST_F(UnsureTest, ThatADeadProcessMadeHalfIsLeftToAPerson) {
  intend_and_die(base::unix_millis());
  ASSERT_TRUE(host_.controller.create({"p0", 4}, soon()).ok());
  host_.controller.set_unreachable(true);
  EXPECT_EQ(end::reconcile(host_.env, soon()).take().obstacles.size(), 1U);
  EXPECT_TRUE(record("p0").has_value());
  host_.controller.set_unreachable(false);
  expect_left_to_a_person("its creation here was cut short");
  ASSERT_TRUE(test::succeeds(remove("p0")));
  EXPECT_FALSE(record("p0").has_value());
  EXPECT_THAT(host_.partitions(), IsEmpty());
}

// A creation that was killed before the controller was asked; later another host takes the name.
TEST_F(UnsureTest, OfAnotherHostIsNotRemovedForACreationThatWasCutShort) {
  intend_and_die(base::unix_millis() - int64_t{3'600'000});
  ASSERT_TRUE(host_.controller.create({"p0", 4}, soon()).ok());
  const std::vector<base::Error> obstacles = end::reconcile(host_.env, soon()).take().obstacles;
  ASSERT_EQ(obstacles.size(), 1U);
  EXPECT_THAT(obstacles[0].message(), HasSubstr("may be another host's"));
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
  ASSERT_TRUE(test::succeeds(remove("p0"))) << "whoever knows better says so";
  EXPECT_THAT(host_.partitions(), IsEmpty());
}

TEST_F(UnsureTest, UnlikeWhatWasAskedForIsAnotherHosts) {
  intend_and_die(base::unix_millis());
  ASSERT_TRUE(host_.controller.create({"p0", 8}, soon()).ok());
  ASSERT_THAT(end::reconcile(host_.env, soon()).take().obstacles, IsEmpty());
  EXPECT_FALSE(record("p0").has_value());
  EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
}

TEST_F(UnsureTest, ThatWasCutShortAndNeverMadeIsForgotten) {
  intend_and_die(1);
  ASSERT_THAT(end::reconcile(host_.env, soon()).take().obstacles, IsEmpty());
  EXPECT_FALSE(record("p0").has_value());
}

}  // namespace
}  // namespace hook::lifecycle::partitions
