// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi/validate.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace hook::cdi {
namespace {

using base::str;

// A file of this version with these members beside the version and the kind.
std::string file(const std::string& version, const std::string& members,
                 const std::string& kind = "vendor.com/class") {
  return str(R"({"cdiVersion": ")", version, R"(", "kind": ")", kind, R"(", )", members, "}");
}

std::string with_device(const std::string& version, const std::string& name,
                        const std::string& edits) {
  return file(version,
              str(R"("devices": [{"name": ")", name, R"(", "containerEdits": )", edits, "}]"));
}

std::string with_edits(const std::string& version, const std::string& edits) {
  return with_device(version, "d", edits);
}

std::string faults_of(const std::string& text) { return base::join(validate(text).faults, "; "); }

#define EXPECT_FAULT(text, path, what)                         \
  do {                                                         \
    const std::string faults = faults_of(text);                \
    EXPECT_TRUE(faults.starts_with(path ": ")) << faults;      \
    EXPECT_NE(faults.find(what), std::string::npos) << faults; \
  } while (false)

constexpr const char* kEdits = R"({"env": ["A=b"]})";

TEST(ValidateTest, SaysWhatAFileHas) {
  const Contents contents = validate(
      with_device("0.5.0", "0",
                  R"({"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b"}, {"path": "/dev/c"}],
          "hooks": [{"hookName": "poststop", "path": "/bin/hook", "args": ["hook"], "timeout": 3}]})"));
  EXPECT_EQ(contents.faults, std::vector<std::string>());
  EXPECT_EQ(contents.kind, "vendor.com/class");
  EXPECT_EQ(contents.devices, std::vector<std::string>{"0"});
  EXPECT_EQ(contents.nodes, (std::vector<std::string>{"/dev/b", "/dev/c"}));
  EXPECT_EQ(contents.programs, std::vector<std::string>{"/bin/hook"});
}

TEST(ValidateTest, EverythingOfTheNewestVersion) {
  EXPECT_EQ(faults_of(file("1.1.0", R"("annotations": {"a": "b"}, "containerEdits": {},
    "devices": [{"name": "a:b.c-d_e", "annotations": {"c": "d"}, "containerEdits": {
      "env": ["A=b"], "additionalGids": [1, 2], "netDevices": [{"hostInterfaceName": "a", "name": "b"}],
      "mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["ro"], "type": "bind"}],
      "intelRdt": {"closID": "x", "schemata": ["L3:0=f"], "enableMonitoring": true},
      "deviceNodes": [{"path": "/dev/a", "type": "c", "major": 1, "minor": 3, "fileMode": 438,
                       "permissions": "rwm", "uid": 0, "gid": 0}]}}])")),
            "");
}

TEST(ValidateTest, NoFile) {
  EXPECT_NE(faults_of("cdiVersion: 0.5.0"), "");
  EXPECT_EQ(faults_of("[]"), "the file must be a JSON object");
  EXPECT_EQ(faults_of("{}"), "cdiVersion: is missing; kind: is missing; devices: is missing");
}

TEST(ValidateTest, Versions) {
  EXPECT_FAULT(with_edits("1.2.0", kEdits), "cdiVersion", "'1.2.0' is none of 0.3.0, ");
  EXPECT_FAULT(with_edits("0.2.0", kEdits), "cdiVersion", "is none of");
  EXPECT_FAULT(with_edits("v0.5.0", kEdits), "cdiVersion", "is none of");
}

TEST(ValidateTest, WhatNeedsALaterVersion) {
  EXPECT_FAULT(with_device("0.4.0", "0", kEdits), "devices[0].name", "needs cdiVersion 0.5.0");
  EXPECT_FAULT(with_edits("0.4.0", R"({"deviceNodes": [{"path": "/a", "hostPath": "/b"}]})"),
               "devices[0].containerEdits.deviceNodes[0].hostPath", "needs cdiVersion 0.5.0");
  EXPECT_FAULT(
      with_edits("0.3.0",
                 R"({"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "x"}]})"),
      "devices[0].containerEdits.mounts[0].type", "needs cdiVersion 0.4.0");
  EXPECT_FAULT(with_edits("0.6.0", R"({"additionalGids": [1]})"),
               "devices[0].containerEdits.additionalGids", "needs cdiVersion 0.7.0");
  EXPECT_FAULT(with_edits("1.0.0", R"({"netDevices": []})"), "devices[0].containerEdits.netDevices",
               "needs cdiVersion 1.1.0");
  EXPECT_FAULT(
      file("0.5.0",
           str(R"("annotations": {}, "devices": [{"name": "d", "containerEdits": )", kEdits, "}]")),
      "annotations", "needs cdiVersion 0.6.0");
  EXPECT_FAULT(file("0.5.0", str(R"("devices": [{"name": "d", "containerEdits": )", kEdits, "}]"),
                    "vendor.com/a.b"),
               "kind", "needs cdiVersion 0.6.0");
}

TEST(ValidateTest, Names) {
  const std::string devices = str(R"("devices": [{"name": "d", "containerEdits": )", kEdits, "}]");
  for (const char* kind :
       {"vendor.com", "/class", "vendor.com/", "1vendor/class", "v/c/d", "v/c_"}) {
    EXPECT_FAULT(file("1.0.0", devices, kind), "kind", "must be VENDOR/CLASS");
  }
  for (const char* name : {"", "-a", "a-", "a b", "a/b", ":a"}) {
    EXPECT_FAULT(with_device("1.0.0", name, kEdits), "devices[0].name", "must begin and end");
  }
}

TEST(ValidateTest, Devices) {
  EXPECT_EQ(faults_of(file("1.0.0", R"("devices": [])")), "devices: must have a device");
  EXPECT_EQ(faults_of(file("1.0.0", R"("devices": {})")), "devices: must be a list of objects");
  EXPECT_EQ(faults_of(file("1.0.0", R"("devices": [1])")), "devices[0]: must be an object");
  EXPECT_FAULT(with_edits("1.0.0", "{}"), "devices[0].containerEdits", "must change something");
  EXPECT_EQ(faults_of(file("1.0.0", R"("devices": [{"name": "d"}])")),
            "devices[0].containerEdits: is missing");
  EXPECT_EQ(faults_of(file("1.0.0", str(R"("devices": [{"name": "d", "containerEdits": )", kEdits,
                                        R"(}, {"name": "d", "containerEdits": )", kEdits, "}]"))),
            "devices[1].name: 'd' is the name of another device of the file");
}

TEST(ValidateTest, UnknownMembers) {
  EXPECT_FAULT(with_edits("1.0.0", R"({"devices": []})"), "devices[0].containerEdits.devices",
               "no member");
  EXPECT_FAULT(file("1.0.0", str(R"("devices": [{"name": "d", "containerEdits": )", kEdits,
                                 R"(}], "more": 1)")),
               "more", "no member");
}

TEST(ValidateTest, Edits) {
  const auto fault = [](const char* edits) { return faults_of(with_edits("1.0.0", edits)); };
  const std::string at = "devices[0].containerEdits.";
  EXPECT_EQ(fault(R"({"env": ["A"]})"), at + "env[0]: must be NAME=VALUE");
  EXPECT_EQ(fault(R"({"env": ["=b"]})"), at + "env[0]: must be NAME=VALUE");
  EXPECT_EQ(fault(R"({"env": "A=b"})"), at + "env: must be a list of strings");
  EXPECT_EQ(fault(R"({"deviceNodes": [{"path": "/a", "type": "x"}]})"),
            at + "deviceNodes[0].type: must be b, c, u or p");
  EXPECT_EQ(fault(R"({"deviceNodes": [{"path": "/a", "permissions": "rx"}]})"),
            at + "deviceNodes[0].permissions: may have only r, w and m");
  EXPECT_EQ(fault(R"({"deviceNodes": [{"type": "c"}]})"), at + "deviceNodes[0].path: is missing");
  EXPECT_EQ(fault(R"({"deviceNodes": [{"path": "/a", "major": "1"}]})"),
            at + "deviceNodes[0].major: must be a number from 0 on");
  EXPECT_EQ(fault(R"({"hooks": [{"hookName": "before", "path": "/a"}]})"),
            at + "hooks[0].hookName: must be prestart, createRuntime, createContainer,"
                 " startContainer, poststart or poststop");
  EXPECT_EQ(fault(R"({"hooks": [{"hookName": "poststop", "path": "a"}]})"),
            at + "hooks[0].path: 'a' must be an absolute path");
  EXPECT_EQ(fault(R"({"hooks": [{"hookName": "poststop", "path": "/a", "timeout": 0}]})"),
            at + "hooks[0].timeout: must be greater than 0");
  EXPECT_EQ(fault(R"({"mounts": [{"hostPath": "/a"}]})"),
            at + "mounts[0].containerPath: is missing");
}

TEST(ValidateTest, AHostileFileHasAFewShortFaults) {
  std::string members = R"("devices": [)";
  for (int i = 0; i < 1000; ++i) members += "1,";
  const Contents contents = validate(file("1.0.0", members + "1]"));
  EXPECT_EQ(contents.faults.size(), 20U);
}

}  // namespace
}  // namespace hook::cdi
