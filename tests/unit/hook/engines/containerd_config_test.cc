// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/containerd_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/unit/hook/engines/entry.h"

namespace hook::engines {
namespace {

using base::Code;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kContainerdFile = "config.toml";
constexpr const char* kCri = "plugins.\"io.containerd.grpc.v1.cri\".containerd";

std::string added_to_containerd(const FileText& text, const RuntimeEntry& entry = kEntry) {
  return add_containerd_runtime(text, entry, kContainerdFile).take().value();
}
FileText removed_from_containerd(const FileText& text) {
  return remove_containerd_runtime(text, "ipu", kContainerdFile).take();
}
std::string with_runc(const std::string& options) {
  return base::str("version = 2 # ours\n[", kCri, ".runtimes.runc.options]\n  ", options, "\n");
}

TEST(ContainerdConfigTest, AHandlerForOurRuntimeIsAdded) {
  const std::string text = with_runc("SystemdCgroup = false");
  EXPECT_EQ(added_to_containerd(text), base::str(text, R"(
# ipuctl runtime configure: begin
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes."ipu"]
  runtime_type = "io.containerd.runc.v2"
  pod_annotations = ["graphcore.ai/*"]
  container_annotations = ["graphcore.ai/*"]
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes."ipu".options]
    BinaryName = "/usr/bin/ipu-container-runtime"
# ipuctl runtime configure: end
)"));
}

TEST(ContainerdConfigTest, ItHasTheCgroupsOfRunc) {
  EXPECT_THAT(added_to_containerd(with_runc("SystemdCgroup = true")),
              HasSubstr("-runtime\"\n    SystemdCgroup = true\n"));
}

TEST(ContainerdConfigTest, VersionThreeNamesThePluginOtherwise) {
  EXPECT_THAT(added_to_containerd("version = 3\n"),
              HasSubstr("[plugins.\"io.containerd.cri.v1.runtime\".containerd."));
}

TEST(ContainerdConfigTest, ALaterVersionIsAsVersionThree) {
  for (const char* version : {"version = 4\n", "version = 5\n"}) {
    EXPECT_THAT(added_to_containerd(version),
                HasSubstr("[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes."));
  }
  EXPECT_TRUE(test::fails(add_containerd_runtime("version = 0\n", kEntry, kContainerdFile),
                          Code::kInvalid, "1 or higher"));
}

TEST(ContainerdConfigTest, ADumpMayHaveTheTablesOfTheFileAsTheyWere) {
  const std::string second = added_to_containerd("version = 2\n");
  const std::string third = added_to_containerd("version = 3\n");
  const std::string not_migrated = base::str("version = 3\n", second.substr(second.find('\n')));
  for (const std::string& dump : {second, third, not_migrated}) {
    const DumpedHandler found = find_dumped_handler(dump, "ipu").take();
    EXPECT_EQ(found.path, kEntry.path) << dump;
    EXPECT_TRUE(found.is_known_version);
  }
  EXPECT_EQ(find_dumped_handler("version = 4\n", "ipu").take().path, "");
  EXPECT_TRUE(find_dumped_handler("version = 4\n", "ipu").take().is_known_version);
  EXPECT_FALSE(find_dumped_handler("version = 5\n", "ipu").take().is_known_version);
}

TEST(ContainerdConfigTest, AnAbsentFileBecomesOneOfVersionTwo) {
  EXPECT_THAT(added_to_containerd(std::nullopt), StartsWith("version = 2\n\n# ipuctl"));
}

TEST(ContainerdConfigTest, TwiceChangesNothingAndANewPathReplacesTheOld) {
  const std::string once = added_to_containerd("version = 2\n");
  EXPECT_EQ(added_to_containerd(once), once);
  const std::string moved = added_to_containerd(once, {"ipu", "/opt/ipu-container-runtime"});
  EXPECT_THAT(moved, HasSubstr("\"/opt/ipu-container-runtime\""));
  EXPECT_THAT(moved, Not(HasSubstr("/usr/bin")));
}

TEST(ContainerdConfigTest, WhatIsTakenAwayIsWhatWasAdded) {
  for (const std::string text :
       {"version = 2\n", "version = 2\n\n", "# no end\nversion = 3\n[debug]\n"}) {
    EXPECT_EQ(removed_from_containerd(added_to_containerd(text)), text);
    EXPECT_EQ(removed_from_containerd(text), text);
  }
  EXPECT_EQ(removed_from_containerd(std::nullopt), std::nullopt);
}

TEST(ContainerdConfigTest, WhatComesAfterTheBlockStays) {
  const std::string text = added_to_containerd("version = 2\n") + "[debug]\n  level = \"info\"\n";
  EXPECT_EQ(removed_from_containerd(text), "version = 2\n[debug]\n  level = \"info\"\n");
}

TEST(ContainerdConfigTest, ABlockOfAnotherNameIsNotTakenAway) {
  const std::string text = added_to_containerd("version = 2\n");
  EXPECT_EQ(*remove_containerd_runtime(text, "other", kContainerdFile).take(), text);
}

TEST(ContainerdConfigTest, SaysWhetherTheCriPluginIsOff) {
  const auto found = [](const FileText& text) {
    return find_disabled_cri(text, kContainerdFile).take();
  };
  EXPECT_EQ(found("version = 2\ndisabled_plugins = [\"cri\"]\n"), "cri");
  EXPECT_EQ(found("version = 3\ndisabled_plugins = [\"io.containerd.cri.v1.runtime\"]\n"),
            "io.containerd.cri.v1.runtime");
  EXPECT_EQ(found("version = 2\ndisabled_plugins = [\"aufs\"]\n"), std::nullopt);
  EXPECT_EQ(found("version = 2\ndisabled_plugins = []\n"), std::nullopt);
  EXPECT_TRUE(test::fails(find_disabled_cri("disabled_plugins = [\"cri\"]\n", kContainerdFile),
                          Code::kInvalid, "remove 'cri'"));
  EXPECT_EQ(found(std::nullopt), std::nullopt);
}

TEST(ContainerdConfigTest, ATemplateIsAddedToBesideItsActions) {
  const std::string file = "/k/agent/etc/containerd/config-v3.toml.tmpl";
  const FileText text = "{{ template \"base\" . }}\n[debug]\n  level = {{ .Level }}\n";
  const FileText both = add_containerd_runtime(text, kEntry, file).take();
  EXPECT_THAT(*both, StartsWith(*text));
  EXPECT_THAT(*both, HasSubstr("io.containerd.cri.v1.runtime"));
  EXPECT_THAT(*both, HasSubstr("    SystemdCgroup = {{ .SystemdCgroup }}\n"));
  EXPECT_EQ(find_containerd_runtime(both, "ipu", file).take().path, kEntry.path);
  EXPECT_EQ(add_containerd_runtime(both, kEntry, file).take(), both);
  EXPECT_EQ(remove_containerd_runtime(both, "ipu", file).take(), text);
  const FileText fresh = add_containerd_runtime(std::nullopt, kEntry, "config.toml.tmpl").take();
  EXPECT_THAT(*fresh, StartsWith("{{ template \"base\" . }}\n\n# ipuctl"));
  EXPECT_THAT(*fresh, HasSubstr("io.containerd.grpc.v1.cri"));
}

TEST(ContainerdConfigTest, FindsWhatIsThere) {
  EXPECT_EQ(find_containerd_runtime(added_to_containerd("version = 2\n"), "ipu", kContainerdFile)
                .take()
                .path,
            kEntry.path);
  EXPECT_EQ(find_containerd_runtime("version = 2\n", "ipu", kContainerdFile).take().path, "");
  EXPECT_EQ(find_containerd_runtime(std::nullopt, "ipu", kContainerdFile).take().path, "");
}

TEST(ContainerdConfigTest, AHandlerOfSomebodyElseStays) {
  const std::string other =
      base::str("version = 2\n[", kCri, ".runtimes.ipu.options]\nBinaryName = \"/x\"\n");
  EXPECT_TRUE(
      test::fails(add_containerd_runtime(other, kEntry, kContainerdFile), Code::kExists, "--name"));
  EXPECT_TRUE(
      test::fails(remove_containerd_runtime(other, "ipu", kContainerdFile), Code::kExists, "'/x'"));
  const std::string same = base::str(
      "version = 2\n[", kCri, ".runtimes.ipu.options]\nBinaryName = \"", kEntry.path, "\"\n");
  EXPECT_EQ(added_to_containerd(same), same);
}

TEST(ContainerdConfigTest, WhatCannotBeAddedToIsRefused) {
  EXPECT_TRUE(test::fails(add_containerd_runtime("[debug]\n", kEntry, kContainerdFile),
                          Code::kInvalid, "migrate"));
  EXPECT_TRUE(test::fails(add_containerd_runtime("version = \n", kEntry, kContainerdFile),
                          Code::kInvalid, "line 1"));
  const std::string inlined =
      "version = 2\nplugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes = {}\n";
  EXPECT_TRUE(test::fails(add_containerd_runtime(inlined, kEntry, kContainerdFile), Code::kInvalid,
                          "a table of its own"));
  RuntimeEntry entry = kEntry;
  entry.make_default = true;
  EXPECT_TRUE(test::fails(add_containerd_runtime("version = 2\n", entry, kContainerdFile),
                          Code::kUnsupported, "default_runtime_name"));
}

}  // namespace
}  // namespace hook::engines
