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
