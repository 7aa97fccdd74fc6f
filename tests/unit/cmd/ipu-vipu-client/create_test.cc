// SPDX-License-Identifier: Apache-2.0
// Creating a partition through ipu-vipu-client when the controller fails on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/names.h"
#include "base/text.h"
#include "tests/unit/cmd/ipu-vipu-client/rig.h"

namespace vipu {
namespace {

using namespace base::names;
using grpc::StatusCode;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using ClientCreateTest = ClientTest;

TEST_F(ClientCreateTest, GivesOneDeviceForEachIpu) {
  const auto grant = controller().create({.id = kOurs, .size = 8, .gcds = 2}, soon());
  ASSERT_TRUE(test::succeeds(grant));
  ASSERT_EQ(grant.value().gcds.size(), 2U);
  EXPECT_EQ(grant.value().gcds[1].devices.size(), 4U);
  EXPECT_EQ(grant.value().controller_address, "127.0.0.1");
  EXPECT_EQ(server().calls("CreatePartition"), 1);
}

TEST_F(ClientCreateTest, SubmitDoesNotWait) {
  server().script_status({state(virmgrpc::PS_PENDING, virmgrpc::POS_CREATING)});
  EXPECT_TRUE(test::succeeds(controller().submit(four(), soon())));
  EXPECT_THAT(server().partitions(), ElementsAre(kOurs));
}

TEST_F(ClientCreateTest, ANameThatIsTakenIsNobodysButItsOwners) {
  server().add(partition(kOurs, 4));
  EXPECT_TRUE(
      test::fails(controller().create(four(), soon()), Code::kExists, "': it already exists"));
  EXPECT_EQ(server().calls("CreatePartition"), 0);
}

TEST_F(ClientCreateTest, ANameThatIsTakenMeanwhileIsNotOursEither) {
  server().script("CreatePartition", {failing(StatusCode::ALREADY_EXISTS)});
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kExists, "ALREADY_EXISTS"));
  EXPECT_EQ(server().calls("CreatePartition"), 1);
}

// A controller that was full may have room a moment later.
TEST_F(ClientCreateTest, ASecondRefusalIsFinal) {
  server().always("CreatePartition", failing(StatusCode::INVALID_ARGUMENT));
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kInvalid));
  EXPECT_EQ(server().calls("CreatePartition"), 2);
}

TEST_F(ClientCreateTest, ARefusalThatMayMeanBusyIsNot) {
  server().script("CreatePartition", {failing(StatusCode::FAILED_PRECONDITION)});
  EXPECT_TRUE(test::succeeds(controller().create(four(), soon())));
  EXPECT_EQ(server().calls("CreatePartition"), 2);
}

TEST_F(ClientCreateTest, AsksABusyControllerALimitedNumberOfTimes) {
  server().always("CreatePartition", failing(StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kBusy,
                          "': no capacity: as told (RESOURCE_EXHAUSTED after"));
  EXPECT_EQ(server().calls("CreatePartition"), 10);
}

std::string numbered(int number) { return base::str("c-1f2e3d4c-00000000000", number); }

// Each status that leaves in doubt whether the request was carried out.
const std::vector<StatusCode>& lost() {
  static const std::vector<StatusCode> codes = {StatusCode::UNAVAILABLE, StatusCode::CANCELLED,
                                                StatusCode::UNKNOWN, StatusCode::INTERNAL,
                                                StatusCode::DEADLINE_EXCEEDED};
  return codes;
}

TEST_F(ClientCreateTest, FindsItsPartitionWhenTheAnswerWasLost) {
  int n = 0;
  for (const StatusCode code : lost()) {
    const std::string id = numbered(++n);
    server().script("CreatePartition", {failing(code, When::kAfter)});
    EXPECT_TRUE(test::succeeds(controller().create(four(id), soon()))) << code;
    EXPECT_EQ(server().calls("CreatePartition"), n);
  }
  server().script("CreatePartition", {garbage()});
  EXPECT_TRUE(test::succeeds(controller().create(four(), soon())));
  EXPECT_EQ(server().calls("CreatePartition"), n + 1);
}

// Another host may have made it in the meantime, by the same name.
TEST_F(ClientCreateTest, WhatIsFoundByANameOfPeopleIsNotTakenForItsOwn) {
  int n = 0;
  for (const StatusCode code : lost()) {
    const std::string id = base::str("p", ++n);
    server().script("CreatePartition", {failing(code, When::kAfter)});
    const auto made = controller().submit(four(id), soon());
    EXPECT_TRUE(test::fails(made, Code::kInternal, "which may be another host's")) << code;
    EXPECT_FALSE(vipu::made_nothing(made.error()));
  }
  server().script("CreatePartition", {failing(StatusCode::UNAVAILABLE)});
  EXPECT_TRUE(test::succeeds(controller().create(four("train"), soon()))) << "it was not made";
}

TEST_F(ClientCreateTest, AsksAgainWhenTheRequestWasLost) {
  int n = 0;
  for (const StatusCode code : lost()) {
    const std::string id = numbered(++n);
    server().script("CreatePartition", {failing(code)});
    EXPECT_TRUE(test::succeeds(controller().create(four(id), soon()))) << code;
    EXPECT_EQ(server().calls("CreatePartition"), 2 * n);
  }
  server().script("CreatePartition", {failing(StatusCode::ABORTED)});
  EXPECT_TRUE(test::succeeds(controller().create(four(), soon())));
}

TEST_F(ClientCreateTest, FindsItsPartitionWhenTheControllerHangs) {
  for (const When when : {When::kBefore, When::kAfter}) {
    server().script("CreatePartition", {hanging(when)});
    const std::string id = when == When::kBefore ? kOurs : numbered(1);
    const auto grant = controller().create(four(id), Deadline::after(milliseconds(5000)));
    EXPECT_TRUE(test::succeeds(grant));
  }
}

TEST_F(ClientCreateTest, WhatIsFoundButWasNotAskedForIsSomebodyElses) {
  server().set_create([](virmgrpc::Partition& made) { made.mutable_spec()->add_ipus(); });
  server().script("CreatePartition", {failing(StatusCode::UNAVAILABLE, When::kAfter)});
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kExists,
                          "it already exists, with 5 IPUs in 1 GCDs, and was created by others"));
}

// The controller lists a partition before it knows which IPUs it will have.
TEST_F(ClientCreateTest, WhatIsFoundHalfMadeIsLookedAtAgain) {
  server().script("CreatePartition", {failing(StatusCode::UNAVAILABLE, When::kAfter)});
  server().list_in_part(3);
  EXPECT_TRUE(test::succeeds(controller().create(four(), soon())));
  server().script("CreatePartition", {failing(StatusCode::UNAVAILABLE, When::kAfter)});
  server().list_in_part(1000);
  const auto late = controller().create(four(numbered(1)), Deadline::after(milliseconds(1500)));
  EXPECT_TRUE(test::fails(late, Code::kTimeout)) << "it may be ours";
}

TEST_F(ClientCreateTest, ARequestThatIsCarriedOutLateIsOurs) {
  // The first attempt is lost; the look-up finds nothing; the second finds what the first made.
  server().script("CreatePartition", {failing(StatusCode::UNAVAILABLE, When::kAfter),
                                      failing(StatusCode::ALREADY_EXISTS)});
  server().hide_from_lists(3);
  EXPECT_TRUE(test::succeeds(controller().create(four(), soon())));
  EXPECT_EQ(server().calls("CreatePartition"), 2);
}

TEST_F(ClientCreateTest, ANameThatTheControllerChoseItselfIsGivenBack) {
  server().set_create([](virmgrpc::Partition& made) { made.set_id("other"); });
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kInternal,
                          "the controller created 'other' instead, which was removed"));
  EXPECT_THAT(server().partitions(), IsEmpty());
}

TEST_F(ClientCreateTest, ANameThatTheControllerChoseItselfIsGivenBackWhenItIsMade) {
  server().set_create([](virmgrpc::Partition& made) { made.set_id("other"); });
  server().script("RemovePartition", {failing(StatusCode::FAILED_PRECONDITION),
                                      failing(StatusCode::FAILED_PRECONDITION)});
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kInternal,
                          "the controller created 'other' instead, which was removed"));
  EXPECT_THAT(server().partitions(), IsEmpty());
}

TEST_F(ClientCreateTest, WhatWasThereBeforeIsNotGivenBack) {
  server().add(partition("of-others", 4));
  server().set_created_name("of-others");
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kInternal,
                          "the controller answered for 'of-others' instead"));
  EXPECT_EQ(server().calls("RemovePartition"), 0);
}

TEST_F(ClientCreateTest, APartitionOfAnotherSizeIsAnError) {
  server().set_create([](virmgrpc::Partition& made) { made.mutable_spec()->add_ipus(); });
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kInternal,
                          "it was given 5 devices for 4 IPUs"));
}

TEST_F(ClientCreateTest, AnIpuThatIsGrantedTwiceIsAnError) {
  server().set_config([](virmgrpc::PartitionConfig& config) {
    config.mutable_gcd_configs(0)->mutable_devices(3)->set_device_id(1);
  });
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kInternal,
                          "it was given IPU 1 of '10.5.1.1' twice"));
  EXPECT_TRUE(test::fails(controller().wait(kOurs, soon()), Code::kInternal, "twice"));
}

TEST_F(ClientCreateTest, AnUnreachableControllerMadeNothing) {
  const auto dead = controller_at({"127.0.0.1:1"});
  EXPECT_TRUE(
      test::fails(dead->create(four(), soon()), Code::kUnavailable, str("create '", kOurs, "'")));
  EXPECT_TRUE(
      test::fails(dead->submit(four(), soon()), Code::kUnavailable, str("submit '", kOurs, "'")));
}

TEST_F(ClientCreateTest, ARefusedRequestMadeNothing) {
  for (const auto& [status, code] : {std::pair{StatusCode::PERMISSION_DENIED, Code::kDenied},
                                     {StatusCode::INVALID_ARGUMENT, Code::kInvalid}}) {
    server().script("CreatePartition", {failing(status), failing(status)});
    EXPECT_TRUE(test::fails(controller().create(four(), soon()), code));
  }
  server().script("ListPartitions", {failing(StatusCode::UNAUTHENTICATED)});
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kDenied));
  EXPECT_EQ(server().calls("CreatePartition"), 4);
}

// No code decides whether there is a partition.
TEST_F(ClientCreateTest, ARefusedRequestThatWasCarriedOutIsOurs) {
  int number = 0;
  for (const StatusCode code : {StatusCode::ABORTED, StatusCode::RESOURCE_EXHAUSTED,
                                StatusCode::FAILED_PRECONDITION, StatusCode::PERMISSION_DENIED}) {
    server().script("CreatePartition", {failing(code, When::kAfter)});
    EXPECT_TRUE(test::succeeds(controller().create(four(numbered(++number)), soon()))) << code;
  }
}

TEST_F(ClientCreateTest, ARefusalOfTheSecondAttemptSaysNothingAboutTheFirst) {
  for (const StatusCode code : {StatusCode::PERMISSION_DENIED, StatusCode::INVALID_ARGUMENT}) {
    server().script("CreatePartition",
                    {failing(StatusCode::UNAVAILABLE), failing(code), failing(code)});
    EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kInternal)) << code;
    server().script("CreatePartition", {failing(StatusCode::UNAVAILABLE)});
    server().script("ListPartitions", {{}, failing(code)});
    EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kInternal)) << code;
  }
}

TEST_F(ClientCreateTest, APartitionThatIsBeingRemovedIsNotActive) {
  server().add(partition(kOurs, 4));
  server().script_status({state(virmgrpc::PS_ACTIVE, virmgrpc::POS_REMOVING)});
  EXPECT_TRUE(test::fails(controller().wait(kOurs, soon()), Code::kNotFound, "is removing it"));
}

TEST_F(ClientCreateTest, ARefusalOfTheWaitSaysNothingAboutTheRequest) {
  server().script("GetPartitionStatus", {failing(StatusCode::RESOURCE_EXHAUSTED)});
  EXPECT_TRUE(test::fails(controller().create(four(numbered(1)), soon()), Code::kInternal));
  server().script("GetPartitionIpuofConfig", {failing(StatusCode::PERMISSION_DENIED)});
  EXPECT_TRUE(test::fails(controller().create(four(), soon()), Code::kInternal));
}

TEST_F(ClientCreateTest, AControllerThatIsLostAfterTheRequestIsNotUnavailable) {
  int number = 0;
  for (const char* rpc : {"CreatePartition", "GetPartitionIpuofConfig"}) {
    server().always("CreatePartition", failing(StatusCode::UNAVAILABLE, When::kAfter));
    server().always(rpc, failing(StatusCode::UNAVAILABLE));
    const Deadline deadline = Deadline::after(milliseconds(2000));
    const auto made = controller().create(four(numbered(++number)), deadline);
    ASSERT_TRUE(test::fails(made, Code::kTimeout));
    // The deadline may come in the middle of the last attempt.
    EXPECT_THAT(made.error().message(),
                AnyOf(HasSubstr("was lost"), HasSubstr("no answer within")));
    EXPECT_GT(server().calls(rpc), 2);
    server().always(rpc, {});
  }
}

TEST_F(ClientCreateTest, AControllerThatIsLostBeforeTheLookUpIsNotUnavailable) {
  std::vector<test::Fault> faults(50, failing(StatusCode::UNAVAILABLE));
  faults.front() = {};  // the name is free
  server().script("ListPartitions", faults);
  server().script("CreatePartition", {failing(StatusCode::UNAVAILABLE, When::kAfter)});
  const Deadline deadline = Deadline::after(milliseconds(2000));
  EXPECT_TRUE(test::fails(controller().create(four(), deadline), Code::kTimeout, "was lost"));
}

TEST_F(ClientCreateTest, WaitsThroughARestartOfTheController) {
  server().script_status({state(virmgrpc::PS_PENDING, virmgrpc::POS_CREATING)});
  auto grant = std::async(std::launch::async, [&] { return controller().create(four(), soon()); });
  ASSERT_TRUE(server().wait_for_calls("GetPartitionStatus", 2));
  server().always("GetPartitionStatus", failing(StatusCode::UNAVAILABLE));
  const int calls = server().calls("GetPartitionStatus");
  ASSERT_TRUE(server().wait_for_calls("GetPartitionStatus", calls + 5));
  server().always("GetPartitionStatus", {});
  server().script_status({});
  EXPECT_TRUE(test::succeeds(grant.get()));
}

TEST_F(ClientCreateTest, ConnectsAgainToAControllerThatWasStartedAnew) {
  auto first = std::make_unique<test::ScriptedServer>();
  const int port = first->port();
  const auto restarted = controller_at({first->address()});
  first->script_status({state(virmgrpc::PS_PENDING, virmgrpc::POS_CREATING)});
  auto grant = std::async(std::launch::async, [&] { return restarted->create(four(), soon()); });
  ASSERT_TRUE(first->wait_for_calls("GetPartitionStatus", 2));
  first.reset();
  test::ScriptedServer second({grpc::InsecureServerCredentials(), port});
  second.add(partition(kOurs, 4));
  EXPECT_TRUE(test::succeeds(grant.get()));
  EXPECT_EQ(second.calls("CreatePartition"), 0);
}

TEST_F(ClientCreateTest, APartitionInErrorIsGivenUpWithEveryReason) {
  virmgrpc::PartitionStatus failed = state(virmgrpc::PS_ERROR, virmgrpc::POS_FAILED);
  failed.add_errors("link 3 is down");
  failed.add_errors("agent ag2 does not answer");
  failed.set_auto_reset_retry_count(1);
  failed.set_max_auto_reset_retries(3);
  server().script_status({failed});
  const auto made = controller().create(four(), soon());
  ASSERT_TRUE(test::fails(made, Code::kInternal, "after 1 automatic resets"));
  EXPECT_THAT(made.error().message(), HasSubstr("link 3 is down; agent ag2 does not answer"));
  EXPECT_THAT(server().partitions(), ElementsAre(kOurs));
}

TEST_F(ClientCreateTest, APartitionThatTheControllerStillMendsIsWaitedFor) {
  virmgrpc::PartitionStatus mended = state(virmgrpc::PS_ERROR, virmgrpc::POS_IDLE);
  mended.set_max_auto_reset_retries(3);
  mended.set_auto_reset_retry_count(2);
  server().script_status({mended, state(virmgrpc::PS_ERROR, virmgrpc::POS_RESETTING),
                          state(virmgrpc::PS_ACTIVE, virmgrpc::POS_RESETTING),
                          state(virmgrpc::PS_ACTIVE, virmgrpc::POS_IDLE)});
  EXPECT_TRUE(test::succeeds(controller().create(four(), soon())));
  mended.set_auto_reset_retry_count(3);
  server().script_status({mended});
  EXPECT_TRUE(
      test::fails(controller().create(four(numbered(1)), soon()), Code::kInternal, "in ERROR"));
}

TEST_F(ClientCreateTest, WhatStaysPendingTimesOutAndSaysHowFarItCame) {
  server().script_status({state(virmgrpc::PS_PENDING, virmgrpc::POS_CREATING)});
  const std::string expected = "the partition did not become ACTIVE within 27";  // 2750 ms or less
  std::string said;
  // A look that the deadline cuts short says that there was no answer.
  for (int attempt = 0; attempt < 3 && said.find(expected) == said.npos; ++attempt) {
    const auto made =
        controller().create(four(numbered(attempt)), Deadline::after(milliseconds(3000)));
    ASSERT_TRUE(test::fails(made, Code::kTimeout));
    said = made.error().message();
  }
  EXPECT_THAT(said, AllOf(HasSubstr(expected), HasSubstr(" ms (it is PENDING, CREATING)")));
}

TEST_F(ClientCreateTest, WaitIsOfAPartitionThatIsThere) {
  EXPECT_TRUE(test::fails(controller().wait(kOurs, soon()), Code::kNotFound, "NOT_FOUND"));
  server().add(partition(kOurs, 4));
  const auto grant = controller().wait(kOurs, soon());
  ASSERT_TRUE(test::succeeds(grant));
  EXPECT_EQ(grant.value().gcds[0].devices.size(), 4U);
  server().script_status({state(virmgrpc::PS_REMOVED, virmgrpc::POS_IDLE)});
  EXPECT_TRUE(test::fails(controller().wait(kOurs, soon()), Code::kNotFound, "removed"));
}

}  // namespace
}  // namespace vipu
