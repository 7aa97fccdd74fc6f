// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-slurm/job/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace slurm {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const BundleInput& input() {
  static const BundleInput kInput{"/usr/libexec/ipu-slurm", {"IPU_COUNT=4", "IPU_WAIT=2m"}, "/a/b"};
  return kInput;
}

// What bundle_text() writes, with what the runtime adds.
Json edited() {
  Json config = Json::parse(bundle_text(input()));
  config["process"]["env"].push_back("IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/ipuof.conf");
  config["mounts"].push_back(
      {{"destination", "/run/ipu"}, {"type", "bind"}, {"source", "/r/1/ipu"}});
  config["linux"]["devices"] = Json::array();
  for (const char* const path : {"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm", "/dev/ipu1"})
    config["linux"]["devices"].push_back({{"path", path}, {"type", "c"}});
  return config;
}

TEST(SlurmBundleTest, TheContainerHasNothingButItsProgram) {
  const Json config = Json::parse(bundle_text(input()));
  EXPECT_EQ(config["process"]["args"], Json::array({"/pause", "pause"}));
  EXPECT_EQ(config["process"]["capabilities"], Json::object());
  EXPECT_EQ(config["process"]["noNewPrivileges"], true);
  EXPECT_EQ(config["root"]["readonly"], true);
  EXPECT_EQ(config["mounts"].size(), 2U);
  EXPECT_EQ(config["linux"]["cgroupsPath"], "/a/b");
  EXPECT_EQ(config["linux"]["namespaces"].size(), 5U);
}

TEST(SlurmBundleTest, OnlyWhatTheRuntimeAddedIsForTheTask) {
  EXPECT_THAT(entry_of(input(), bundle_text(input())).take().environment, IsEmpty());
  const Entry entry = entry_of(input(), edited().dump()).take();
  EXPECT_THAT(entry.environment, ElementsAre("IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/ipuof.conf"));
  ASSERT_EQ(entry.mounts.size(), 1U);
  EXPECT_EQ(entry.mounts[0].source, "/r/1/ipu");
  EXPECT_EQ(entry.mounts[0].destination, "/run/ipu");
  EXPECT_EQ(entry.devices.size(), 3U);
}

TEST(SlurmBundleTest, WhatIsNoConfigIsRefused) {
  for (const char* const text : {"", "[]", "{}", "null"})
    EXPECT_FALSE(entry_of(input(), text).ok());
  Json config = edited();
  config["process"]["env"].push_back("A=b\nnetwork\t1\t2");
  EXPECT_FALSE(entry_of(input(), config.dump()).ok());
  config = edited();
  config["mounts"].push_back({{"source", "/a"}});
  EXPECT_FALSE(entry_of(input(), config.dump()).ok());
}

TEST(SlurmOrdersTest, ATaskSeesItsOwnDevicesAlone) {
  const Entry entry = entry_of(input(), edited().dump()).take();
  EXPECT_THAT(rdma_names(entry), ElementsAre("uverbs0", "rdma_cm"));
  EXPECT_EQ(orders(entry, {71, 402}, {true, {"/dev/ipu0", "/dev/ipu1"}, "/run/resolv"}, "/s"),
            "network\t71\t402\n"
            "sysfs\n"
            "read\t/r/1/ipu\t/run/ipu\n"
            "bind\t/dev/infiniband/uverbs0\t/s/uverbs0\n"
            "bind\t/dev/infiniband/rdma_cm\t/s/rdma_cm\n"
            "rbind\t/s\t/dev/infiniband\n"
            "bind\t/dev/null\t/dev/ipu0\n"
            "read\t/run/resolv\t/etc/resolv.conf\n"
            "unset\tIPUOF_VIPU_API_*\n"
            "unset\tIPUOF_CONFIG_PATH\n"
            "env\tIPUOF_CONFIG_PATH=/etc/ipuof.conf.d/ipuof.conf\n"
            "drop\t12\n"
            "drop\t13\n");
}

TEST(SlurmOrdersTest, AHostWithoutDevicesHasNothingToHide) {
  const std::string text = orders({}, {71, 402}, {}, "/s");
  EXPECT_EQ(text,
            "network\t71\t402\nsysfs\nunset\tIPUOF_VIPU_API_*\nunset\tIPUOF_CONFIG_PATH\n"
            "drop\t12\ndrop\t13\n");
  // A lease without RDMA hides the devices all the same.
  EXPECT_THAT(orders({}, {71, 402}, {true, {}, ""}, "/s"),
              HasSubstr("rbind\t/s\t/dev/infiniband\n"));
  EXPECT_THAT(orders({}, {71, 402}, {true, {}, ""}, "/s"),
              Not(HasSubstr("bind\t/dev/infiniband/")));
}

TEST(SlurmOrdersTest, ATaskOutsideSeesNoDevices) {
  EXPECT_EQ(orders_outside({true, {"/dev/ipu0"}, "/run/resolv"}, "/s"),
            "rbind\t/s\t/dev/infiniband\n"
            "bind\t/dev/null\t/dev/ipu0\n"
            "unset\tIPUOF_VIPU_API_*\n"
            "unset\tIPUOF_CONFIG_PATH\n");
}

TEST(SlurmOrdersTest, AllNodesOfACardAreKnown) {
  for (const char* const name : {"ipu0", "ipu15", "ipu0_ex", "ipu0_mem", "ipu12_mailbox"})
    EXPECT_TRUE(is_card(name)) << name;
  for (const char* const name : {"", "ipu", "ipu_mem", "ipux", "ipu0x", "xipu0", "ip", "ipmi0"})
    EXPECT_FALSE(is_card(name)) << name;
}

TEST(SlurmOrdersTest, ANameOfADeviceIsNoPath) {
  Entry entry;
  entry.devices = {"/dev/infiniband/", "/dev/infiniband/a/b", "/dev", "/dev/infiniband/../sda"};
  EXPECT_THAT(rdma_names(entry), IsEmpty());
}

}  // namespace
}  // namespace slurm
