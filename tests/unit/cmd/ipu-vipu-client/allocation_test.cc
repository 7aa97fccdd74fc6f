// SPDX-License-Identifier: Apache-2.0
// Creating a partition in a V-IPU allocation, of which no call tells the size.
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "tests/unit/cmd/ipu-vipu-client/rig.h"

namespace vipu {
namespace {

using namespace base::names;
using grpc::StatusCode;

class ClientAllocationTest : public ClientTest {
 protected:
  // A partition of four IPUs in ALLOCATION.
  static virmgrpc::Partition of_allocation(const std::string& allocation) {
    virmgrpc::Partition four = partition("of-" + allocation, 4);
    four.mutable_spec()->set_allocation_id(allocation);
    return four;
  }
  Status ask() {
    return controller().submit({.id = kOurs, .size = 4, .allocation = "team"}, soon());
  }
};

// No call tells the size of an allocation. If none of it is held, nothing can become free.
TEST_F(ClientAllocationTest, WhatDoesNotFitIntoAnUnusedAllocationNeverFits) {
  server().add(of_allocation("other"));
  server().always("CreatePartition", failing(StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_TRUE(test::fails(ask(), Code::kInvalid,
                          "no partition of allocation 'team' holds IPUs, so none can become free"
                          " for 4; ask for fewer, or correct 'allocation' of the pool or of the"
                          " tenant: "
                          "no capacity: as told"));
  EXPECT_EQ(server().calls("CreatePartition"), 10);
}

// As long as agents are away, too.
TEST_F(ClientAllocationTest, APreconditionMayPass) {
  server().always("CreatePartition", failing(StatusCode::FAILED_PRECONDITION));
  EXPECT_TRUE(test::fails(ask(), Code::kBusy));
}

TEST_F(ClientAllocationTest, WhatIsHeldMayBecomeFree) {
  server().always("CreatePartition", failing(StatusCode::RESOURCE_EXHAUSTED));
  for (const char* of : {"", "team"}) {
    server().add(of_allocation(of));
    EXPECT_TRUE(test::fails(ask(), Code::kBusy)) << of;
  }
}

TEST_F(ClientAllocationTest, AnyRefusalOfAUsedAllocationMayPassUnlessItNamesTheRequest) {
  server().add(of_allocation("team"));
  for (const StatusCode code : {StatusCode::UNKNOWN, StatusCode::NOT_FOUND, StatusCode::INTERNAL}) {
    server().always("CreatePartition", failing(code));
    EXPECT_TRUE(test::fails(ask(), Code::kBusy)) << static_cast<int>(code);
  }
  server().always("CreatePartition", failing(StatusCode::INVALID_ARGUMENT));
  EXPECT_TRUE(test::fails(ask(), Code::kInvalid));
}

// For half of the attempts, nobody seems to hold anything.
TEST_F(ClientAllocationTest, APartitionThatShowsLateCounts) {
  server().add(of_allocation("team"));
  server().hide_from_lists(5);
  server().always("CreatePartition", failing(StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_TRUE(test::fails(ask(), Code::kBusy));
}

TEST_F(ClientAllocationTest, ABusyControllerOrALostAnswerIsNoShortage) {
  server().always("CreatePartition", {.code = StatusCode::FAILED_PRECONDITION,
                                      .message = "Another operation is in progress"});
  EXPECT_TRUE(test::fails(ask(), Code::kBusy));
  server().script("CreatePartition", {failing(StatusCode::UNAVAILABLE)});
  server().always("CreatePartition", failing(StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_TRUE(test::fails(ask(), Code::kTimeout));
}

// Its name is given once: it is ours, so the error must not say that nothing was made.
TEST_F(ClientAllocationTest, WhatWasMadeElsewhereIsStillOurs) {
  server().set_create(
      [](virmgrpc::Partition& made) { made.mutable_spec()->set_allocation_id("other"); });
  server().script("CreatePartition", {failing(StatusCode::UNAVAILABLE, When::kAfter)});
  EXPECT_TRUE(test::fails(ask(), Code::kInternal,
                          "the controller made it in allocation 'other' instead of 'team'"));
}

}  // namespace
}  // namespace vipu
