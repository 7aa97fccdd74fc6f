// SPDX-License-Identifier: Apache-2.0
#include "vipu/types.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace vipu {
namespace {

TEST(TypesTest, ReadyStatesHaveTheNamesOfTheVipuTool) {
  EXPECT_STREQ(name_of(ReadyState::kUndefined), "UNDEFINED");
  EXPECT_STREQ(name_of(ReadyState::kPending), "PENDING");
  EXPECT_STREQ(name_of(ReadyState::kActive), "ACTIVE");
  EXPECT_STREQ(name_of(ReadyState::kRemoved), "REMOVED");
  EXPECT_STREQ(name_of(ReadyState::kError), "ERROR");
}

TEST(TypesTest, OperationStatesHaveTheNamesOfTheApi) {
  EXPECT_STREQ(name_of(OperationState::kUndefined), "UNDEFINED");
  EXPECT_STREQ(name_of(OperationState::kIdle), "IDLE");
  EXPECT_STREQ(name_of(OperationState::kCreating), "CREATING");
  EXPECT_STREQ(name_of(OperationState::kRemoving), "REMOVING");
  EXPECT_STREQ(name_of(OperationState::kResetting), "RESETTING");
  EXPECT_STREQ(name_of(OperationState::kFailed), "FAILED");
}

TEST(TypesTest, RoutingsAndSyncTypesAreParsedByTheirNames) {
  EXPECT_EQ(parse_link_routing("DEFAULT"), LinkRouting::kUndefined);
  EXPECT_EQ(parse_link_routing("DNC"), LinkRouting::kDnc);
  EXPECT_EQ(parse_link_routing("SWNC"), LinkRouting::kSwnc);
  EXPECT_EQ(parse_link_routing("BTNC"), LinkRouting::kBtnc);
  EXPECT_EQ(parse_link_routing("RINGSWNC"), LinkRouting::kRingSwnc);
  EXPECT_EQ(parse_gateway_routing("RING"), GatewayRouting::kRing);
  EXPECT_EQ(parse_gateway_routing("SWRING"), GatewayRouting::kSwRing);
  EXPECT_EQ(parse_sync_type("ST_GS2_DEFAULT"), SyncType::kGs2Default);
  EXPECT_EQ(parse_sync_type("ST_GS2_INDEPENDENT_RAILS"), SyncType::kGs2IndependentRails);
  EXPECT_EQ(parse_sync_type("ST_POD_NATIVE_DEFAULT"), SyncType::kPodNativeDefault);
  EXPECT_EQ(parse_sync_type("ST_POD_NATIVE_REPLICATED_PIPELINE"),
            SyncType::kPodNativeReplicatedPipeline);
  for (const char* bad : {"", "dnc", "DNC ", "IRT_DNC", "PS_ACTIVE"}) {
    EXPECT_FALSE(parse_link_routing(bad).has_value()) << bad;
    EXPECT_FALSE(parse_gateway_routing(bad).has_value()) << bad;
    EXPECT_FALSE(parse_sync_type(bad).has_value()) << bad;
  }
}

TEST(TypesTest, APartitionNameIsOfAtMost36LettersDigitsDashesAndUnderscores) {
  EXPECT_TRUE(is_partition_name("p"));
  EXPECT_TRUE(is_partition_name("c-0123456789ab"));
  EXPECT_TRUE(is_partition_name("AZaz09-_"));
  EXPECT_TRUE(is_partition_name(std::string(36, 'x')));
  EXPECT_FALSE(is_partition_name(std::string(37, 'x')));
  for (const char* bad : {"", "a b", "a.b", "a/b", "a\nb", "p\xC3\xA9", "a:b"}) {
    EXPECT_FALSE(is_partition_name(bad)) << bad;
  }
}

TEST(IpuofFileTest, HasTheFieldNamesOfTheApi) {
  const IpuofDevice device{"10.5.1.3", 50054, 50154, 2, 1, 7, 2, 10, "chip", "gw", "ipum"};
  EXPECT_EQ(to_ipuof_file({{device}, {{"GCD Id", "0"}}}), R"({
  "devices": [
    {
      "ip": "10.5.1.3",
      "server_port": 50054,
      "rdma_port": 50154,
      "device_id": 2,
      "ipulink_segment_id": 1,
      "routing_id": 7,
      "ipu_arch_id": 2,
      "ipu_id": 10,
      "chip_id": "chip",
      "gwsw_version": "gw",
      "ipum_sw_version": "ipum"
    }
  ],
  "attributes": {
    "GCD Id": "0"
  }
}
)");
}

TEST(IpuofFileTest, AttributesAreVerbatim) {
  const std::string odd = "a\"b\\c\n\t{\"x\":[1]} \xC3\xA9";
  const base::Json file = base::parse_json(to_ipuof_file({{}, {{odd, odd}}}), "file").take();
  EXPECT_EQ(file["attributes"][odd].get<std::string>(), odd);
}

TEST(IpuofFileTest, WithoutAttributesStillHasTheMember) {
  const base::Json file = base::parse_json(to_ipuof_file({}), "file").take();
  EXPECT_TRUE(file["attributes"].is_object());
  EXPECT_TRUE(file["devices"].is_array());
}

}  // namespace
}  // namespace vipu
