// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi/generate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "hook/cdi/validate.h"

namespace hook::cdi {
namespace {

using base::Json;

constexpr const char* kHook = "/usr/bin/ipu-container-hook";

Card card(uint32_t number) {
  const std::string node = "/dev/ipu" + std::to_string(number);
  return {number, {node, node + "_mem"}};
}

Inventory two_pairs() {
  Inventory inventory;
  inventory.first_pool = "cards";
  inventory.cards = {{"cards", {{card(1), card(0)}, {card(10), card(2)}}}};
  return inventory;
}

Json cards_file(const Inventory& inventory) {
  const auto json = base::parse_json(make_files(inventory, kHook).files[0].text, "file");
  return json.ok() ? json.value() : Json();
}

std::vector<std::string> names_of(const Json& file) {
  std::vector<std::string> names;
  for (const Json& device : file["devices"]) names.push_back(device["name"]);
  return names;
}

Json device_of(const Json& file, const std::string& name) {
  for (const Json& device : file["devices"]) {
    if (device["name"] == name) return device["containerEdits"];
  }
  return {};
}

std::vector<std::string> nodes_of(const Json& edits) {
  std::vector<std::string> nodes;
  for (const Json& node : edits["deviceNodes"]) nodes.push_back(node["path"]);
  return nodes;
}

TEST(GenerateTest, CardsGroupsAndAll) {
  const Json file = cards_file(two_pairs());
  EXPECT_EQ(file["kind"], "graphcore.ai/ipu");
  EXPECT_EQ(names_of(file),
            (std::vector<std::string>{"0", "1", "2", "10", "all", "group0", "group1"}));
  EXPECT_EQ(nodes_of(device_of(file, "10")),
            (std::vector<std::string>{"/dev/ipu10", "/dev/ipu10_mem"}));
  EXPECT_EQ(nodes_of(device_of(file, "group0")),
            (std::vector<std::string>{"/dev/ipu0", "/dev/ipu0_mem", "/dev/ipu1", "/dev/ipu1_mem"}));
  EXPECT_EQ(nodes_of(device_of(file, "all")).size(), 8U);
}

TEST(GenerateTest, EachDeviceTakesTheLeaseOfExactlyItsNodes) {
  const Json file = cards_file(two_pairs());
  const auto asked = [&](const char* name) {
    const Json hook = device_of(file, name)["hooks"];
    EXPECT_EQ(hook.size(), 1U);
    EXPECT_EQ(hook[0]["hookName"], "createRuntime");
    EXPECT_EQ(hook[0]["path"], kHook);
    EXPECT_EQ(hook[0]["args"][2], "--cdi");
    EXPECT_EQ(hook[0]["args"][4], "graphcore.ai/ipu.pool=cards");
    return hook[0]["args"][3].get<std::string>();
  };
  EXPECT_EQ(asked("1"), "graphcore.ai/ipu.devices=1");
  EXPECT_EQ(asked("group1"), "graphcore.ai/ipu.devices=2,10");
  // Not "all", which the configuration of the start would decide.
  EXPECT_EQ(asked("all"), "graphcore.ai/ipu.devices=0,1,2,10");
  const Json poststop = file["containerEdits"]["hooks"];
  ASSERT_EQ(poststop.size(), 1U);
  EXPECT_EQ(poststop[0]["args"], (Json{"ipu-container-hook", "poststop"}));
}

TEST(GenerateTest, WhileACardIsNotThereItsGroupAndAllHaveNoDevice) {
  Inventory inventory = two_pairs();
  inventory.cards[0].groups[0][0].nodes.clear();
  EXPECT_EQ(names_of(cards_file(inventory)), (std::vector<std::string>{"0", "2", "10", "group1"}));
  for (auto& group : inventory.cards[0].groups)
    for (Card& each : group) each.nodes.clear();
  EXPECT_EQ(make_files(inventory, kHook).files[0].text, "");
}

TEST(GenerateTest, AHookHasAnEnvironmentOfItsOwn) {
  const Json file = cards_file(two_pairs());
  EXPECT_TRUE(device_of(file, "0")["hooks"][0]["env"].is_array());
  EXPECT_EQ(device_of(file, "0")["hooks"][0]["env"].size(), 1U);
}

TEST(GenerateTest, ANodeMayNotBeMadeAndHasNoNumber) {
  const Json node = device_of(cards_file(two_pairs()), "0")["deviceNodes"][0];
  EXPECT_EQ(node["permissions"], "rw");
  EXPECT_FALSE(node.contains("major"));
}

TEST(GenerateTest, TheOrderOfTheInventoryChangesNothing) {
  Inventory other = two_pairs();
  for (auto& group : other.cards[0].groups) std::reverse(group.begin(), group.end());
  EXPECT_EQ(make_files(other, kHook).files[0].text, make_files(two_pairs(), kHook).files[0].text);
  Inventory one;
  one.first_pool = "pod";
  one.partitions = {{"pod", "p0"}, {"pod", "p1"}};
  Inventory reversed = one;
  std::swap(reversed.partitions[0], reversed.partitions[1]);
  EXPECT_EQ(make_files(one, kHook).files[1].text, make_files(reversed, kHook).files[1].text);
}

TEST(GenerateTest, PartitionsOfOtherPoolsBeginWithTheirPool) {
  Inventory inventory;
  inventory.first_pool = "pod";
  inventory.partitions = {{"pod", "p0"}, {"more", "p0"}};
  const Files files = make_files(inventory, kHook);
  EXPECT_EQ(files.files[0].text, "");
  const auto file = base::parse_json(files.files[1].text, "file");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(names_of(file.value()), (std::vector<std::string>{"more.p0", "p0"}));
  const Json edits = device_of(file.value(), "more.p0");
  EXPECT_EQ(edits["env"], Json::array({"IPU_PARTITION=p0"}));
  EXPECT_EQ(edits["hooks"][0]["args"][3], "graphcore.ai/ipu.partition=p0");
  EXPECT_EQ(edits["hooks"][0]["args"][4], "graphcore.ai/ipu.pool=more");
  EXPECT_FALSE(edits.contains("deviceNodes"));
}

TEST(GenerateTest, ANameThatCdiDoesNotAllowIsSaidAndLeftOut) {
  Inventory inventory;
  inventory.first_pool = "pod";
  inventory.partitions = {{"pod", "p0-"}, {"pod", "p1"}};
  const Files files = make_files(inventory, kHook);
  EXPECT_EQ(files.unnamed, (std::vector<std::string>{"graphcore.ai/partition=p0-"}));
  EXPECT_EQ(validate(files.files[1].text).devices, (std::vector<std::string>{"p1"}));
}

TEST(GenerateTest, TheVersionIsTheLowestThatHasWhatIsUsed) {
  EXPECT_EQ(cards_file(two_pairs())["cdiVersion"], "0.5.0");
  Inventory inventory;
  inventory.partitions = {{"", "p0"}};
  const auto version = [&] {
    const auto file = base::parse_json(make_files(inventory, kHook).files[1].text, "file");
    return file.ok() ? file.value()["cdiVersion"].get<std::string>() : "";
  };
  EXPECT_EQ(version(), "0.3.0");
  inventory.partitions = {{"", "0p"}};
  EXPECT_EQ(version(), "0.5.0");
}

TEST(GenerateTest, WhatIsMadeIsValid) {
  Inventory inventory = two_pairs();
  inventory.cards.push_back({"other", {{card(20)}}});
  inventory.partitions = {{"cards", "p0"}, {"other", "4"}};
  for (const File& file : make_files(inventory, kHook).files) {
    EXPECT_EQ(validate(file.text).faults, std::vector<std::string>()) << file.name;
  }
}

}  // namespace
}  // namespace hook::cdi
