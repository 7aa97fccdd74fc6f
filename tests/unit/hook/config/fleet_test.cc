// SPDX-License-Identifier: Apache-2.0
#include "hook/config/fleet.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/names.h"
#include "hook/config/section.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

using namespace base::names;

Result<std::optional<FleetConfig>> read(const std::string& text) {
  const Section section = TRY(Section::parse(text, "config.toml"));
  return read_fleet(section);
}

TEST(FleetConfigTest, IsAbsentWithoutTheSection) {
  const auto fleet = read("");
  ASSERT_TRUE(test::succeeds(fleet));
  EXPECT_FALSE(fleet.value());
}

TEST(FleetConfigTest, HasDefaults) {
  const auto fleet = read("[fleet]\nendpoints = [\"10.1.0.5:2379\"]");
  ASSERT_TRUE(test::succeeds(fleet));
  EXPECT_EQ(*fleet.value(), (FleetConfig{{"10.1.0.5:2379"}}));
  EXPECT_EQ(fleet.value()->prefix, "/ipu-container-toolkit/");
}

TEST(FleetConfigTest, ReadsAllKeys) {
  const auto fleet = read(R"([fleet]
endpoints = ["10.1.0.5:2379", "10.1.0.6:2379"]
ca = "/etc/e/ca.pem"
certificate = "/etc/e/c.pem"
key = "/etc/e/k.pem"
server_name = "etcd"
user = "fleet"
password_file = "/etc/e/password"
prefix = "/pod1/")");
  ASSERT_TRUE(test::succeeds(fleet));
  const FleetConfig wanted{{"10.1.0.5:2379", "10.1.0.6:2379"},
                           "/etc/e/ca.pem",
                           "/etc/e/c.pem",
                           "/etc/e/k.pem",
                           "etcd",
                           "fleet",
                           "/etc/e/password",
                           "/pod1/"};
  EXPECT_EQ(*fleet.value(), wanted);
}

TEST(FleetConfigTest, FencesByAnOperatorUnlessToldOtherwise) {
  const std::string one = "[fleet]\nendpoints = [\"10.1.0.5:2379\"]\n";
  EXPECT_FALSE(read(one + "fence = \"operator\"").take()->fences_itself);
  const auto itself = read(one + "fence = \"auto\"\nfence_witness = \"/opt/bmc\"").take();
  EXPECT_TRUE(itself->fences_itself);
  EXPECT_EQ(itself->fence_after, std::chrono::minutes(10));
  EXPECT_EQ(itself->fence_witness, "/opt/bmc");
  const std::string later = "fence = \"auto\"\nfence_witness = \"/b\"\nfence_after = \"1h\"";
  EXPECT_EQ(read(one + later).take()->fence_after, std::chrono::hours(1));
}

TEST(FleetConfigTest, RefusesWhatCannotBe) {
  const std::string one = "endpoints = [\"10.1.0.5:2379\"]\n";
  for (const auto& [text, key] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "fleet.endpoints"},
           {"endpoints = []", "fleet.endpoints"},
           {"endpoints = [\"etcd.example:2379\"]", "fleet.endpoints"},
           {"endpoints = [\"http://10.1.0.5:2379\"]", "fleet.endpoints"},
           {"endpoints = [\"10.1.0.5\"]", "fleet.endpoints"},
           {one + "prefix = \"pod1\"", "fleet.prefix"},
           {one + "prefix = \"/\"", "fleet.prefix"},
           {one + "prefix = \"/a b/\"", "fleet.prefix"},
           {one + "ca = \"ca.pem\"", "fleet.ca"},
           {one + "key = \"/k\"", "fleet.certificate"},
           {one + "key = \"/k\"\ncertificate = \"/c\"", "fleet.ca"},
           {one + "server_name = \"x\"", "fleet.ca"},
           {one + "user = \"x\"", "fleet.user"},
           {one + "user = \"x\"\npassword_file = \"/p\"", "fleet.ca"},
           {one + "fence = \"never\"", "fleet.fence must"},
           {one + "fence = \"auto\"", "fleet.fence_witness"},
           {one + "fence = \"auto\"\nfence_witness = \"bmc\"", "fleet.fence_witness"},
           {one + "fence = \"auto\"\nfence_witness = \"/b\"\nfence_after = \"9m\"",
            "fleet.fence_after"},
           {one + "fence_witness = \"/b\"", "fleet.fence must"},
           {one + "fence_after = \"20m\"", "fleet.fence must"},
           {one + "token = \"x\"", "fleet.token"}}) {
    EXPECT_TRUE(test::fails(read("[fleet]\n" + text), Code::kInvalid, key)) << text;
  }
}

}  // namespace
}  // namespace hook::config
