// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/ipuof_file.h"

#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"

namespace vipu::local {
namespace {

using namespace base::names;

Result<IpuofConfig> parse(const std::string& text) { return parse_ipuof_file(text, "file 'f'"); }
// A file with this one device.
Result<IpuofConfig> parse_device(const std::string& device) {
  return parse(base::str(R"({"devices":[)", device, R"(],"attributes":{}})"));
}

TEST(IpuofFileParseTest, ReadsWhatIsWritten) {
  const IpuofDevice device{"10.5.1.3", 50054, 50154, 2, 1, 7, 2, 10, "chip", "gw", "ipum"};
  const IpuofConfig config{{device}, {{"GCD Id", "0"}, {"Odd\nkey", "a\tb"}}};
  const Result<IpuofConfig> read = parse(to_ipuof_file(config));
  ASSERT_TRUE(test::succeeds(read));
  EXPECT_EQ(read.value(), config);
}

TEST(IpuofFileParseTest, WhatADeviceNeedNotHaveIsEmpty) {
  const auto read = parse_device(R"({"ip":"10.5.1.1","device_id":3,"server_port":50052})");
  ASSERT_TRUE(test::succeeds(read));
  IpuofDevice expected;
  expected.ip = "10.5.1.1";
  expected.server_port = 50052;
  expected.device_id = 3;
  EXPECT_EQ(read.value().devices, std::vector<IpuofDevice>{expected});
}

TEST(IpuofFileParseTest, NumbersMayBeText) {
  const auto read =
      parse_device(R"({"ip":"10.5.1.1","device_id":"3","server_port":"50052","routing_id":"12"})");
  ASSERT_TRUE(test::succeeds(read));
  EXPECT_EQ(read.value().devices[0].device_id, 3U);
  EXPECT_EQ(read.value().devices[0].routing_id, 12U);
}

TEST(IpuofFileParseTest, TheFormatOf2020IsRefusedWithWhatToDo) {
  EXPECT_TRUE(test::fails(parse(R"([{"ip":"10.5.1.1"}])"), Code::kInvalid, "bare list"));
}

TEST(IpuofFileParseTest, BrokenFilesAreRefused) {
  for (const char* text :
       {"", "{", "null", "1", "{}", R"({"devices":[]})", R"({"devices":[],"attributes":{}})",
        R"({"devices":{},"attributes":{}})", R"({"devices":[1],"attributes":{}})",
        R"({"devices":[{"ip":"10.5.1.1","device_id":0,"server_port":1}]})",
        R"({"devices":[{"ip":"10.5.1.1","device_id":0,"server_port":1}],"attributes":[]})",
        R"({"devices":[{"ip":"10.5.1.1","device_id":0,"server_port":1}],"attributes":{"a":1}})",
        R"({"devices":[{"ip":"10.5.1.1","device_id":0,"server_port":1}],"attributes":{},"x":1})"}) {
    EXPECT_TRUE(test::fails(parse(text), Code::kInvalid, "file 'f'")) << text;
  }
}

TEST(IpuofFileParseTest, BrokenDevicesAreRefusedByTheirNumberAndKey) {
  const std::pair<const char*, const char*> devices[] = {
      {R"({"device_id":0,"server_port":1})", "'ip'"},
      {R"({"ip":"10.5.1.1","server_port":1})", "'device_id'"},
      {R"({"ip":"10.5.1.1","device_id":0})", "'server_port'"},
      {R"({"ip":"fe80::1","device_id":0,"server_port":1})", "'ip'"},
      {R"({"ip":"::1","device_id":0,"server_port":1})", "'ip'"},
      {R"({"ip":"ff02::1","device_id":0,"server_port":1})", "'ip'"},
      {R"({"ip":"::ffff:10.5.1.1","device_id":0,"server_port":1})", "'ip'"},
      {R"({"ip":"host","device_id":0,"server_port":1})", "'ip'"},
      {R"({"ip":"127.0.0.1","device_id":0,"server_port":1})", "'ip'"},
      {R"({"ip":1,"device_id":0,"server_port":1})", "'ip'"},
      {R"({"ip":"10.5.1.1","device_id":4,"server_port":1})", "'device_id'"},
      {R"({"ip":"10.5.1.1","device_id":-1,"server_port":1})", "'device_id'"},
      {R"({"ip":"10.5.1.1","device_id":"1x","server_port":1})", "'device_id'"},
      {R"({"ip":"10.5.1.1","device_id":0,"server_port":65536})", "'server_port'"},
      {R"({"ip":"10.5.1.1","device_id":0,"server_port":1,"rdma_port":65536})", "'rdma_port'"},
      {R"({"ip":"10.5.1.1","device_id":0,"server_port":1,"chip_id":1})", "'chip_id'"},
      {R"({"ip":"10.5.1.1","device_id":0,"server_port":1,"extra":1})", "not known"}};
  for (const auto& [device, key] : devices) {
    EXPECT_TRUE(test::fails(parse_device(device), Code::kInvalid, key)) << device;
    EXPECT_TRUE(test::fails(parse_device(device), Code::kInvalid, "device 0")) << device;
  }
}

TEST(IpuofFileParseTest, AnIpuIsInItOnce) {
  EXPECT_TRUE(test::fails(parse(R"({"devices":[
      {"ip":"10.5.1.1","device_id":0,"server_port":1},
      {"ip":"10.5.1.1","device_id":0,"server_port":2}],"attributes":{}})"),
                          Code::kInvalid, "device 1: IPU 0 of '10.5.1.1' is in it twice"));
}

TEST(IpuofFileParseTest, OnlyAReconfigurablePartitionCanBeSliced) {
  for (const char* value : {"true", "True", "1", "yes", ""}) {
    const IpuofConfig config{{}, {{"Fabric Reconfigurable", value}}};
    EXPECT_TRUE(test::succeeds(check_reconfigurable(config))) << value;
  }
  for (const char* value : {"false", "False", "0", "no"}) {
    const IpuofConfig config{{}, {{"Fabric Reconfigurable", value}}};
    EXPECT_TRUE(test::fails(check_reconfigurable(config), Code::kUnsupported, value));
  }
  EXPECT_TRUE(test::succeeds(check_reconfigurable({})));
}

}  // namespace
}  // namespace vipu::local
