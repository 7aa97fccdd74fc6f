// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/containerd_template.h"

#include <gtest/gtest.h>

#include "tests/support/outcome.h"

namespace hook::engines {
namespace {

using base::Code;

TEST(ContainerdTemplateTest, AGeneratedFileIsRefusedWithItsTemplate) {
  const std::string k3s = "/var/lib/rancher/k3s/agent/etc/containerd/";
  EXPECT_TRUE(test::fails(check_not_generated(k3s + "config.toml", "version = 2\n"),
                          Code::kUnsupported, "--config " + k3s + "config.toml.tmpl"));
  EXPECT_TRUE(test::fails(check_not_generated(k3s + "config.toml", "# v\nversion = 3\n"),
                          Code::kUnsupported, "--config " + k3s + "config-v3.toml.tmpl"));
  EXPECT_TRUE(test::fails(
      check_not_generated("/var/snap/microk8s/7/args/containerd.toml", "version = 2\n"),
      Code::kUnsupported, "--config /var/snap/microk8s/7/args/containerd-template.toml"));
}

TEST(ContainerdTemplateTest, OtherFilesAndTheTemplatesAreNot) {
  for (const char* const file :
       {"/etc/containerd/config.toml", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl",
        "/var/snap/microk8s/current/args/containerd-template.toml"}) {
    EXPECT_TRUE(test::succeeds(check_not_generated(file, "version = 2\n"))) << file;
  }
}

TEST(ContainerdTemplateTest, ActionsAreLeftOutLineByLine) {
  EXPECT_EQ(without_actions("{{ x }}\na = 1\n b = {{ y }}\n"), "\na = 1\n\n");
  EXPECT_EQ(without_actions("a = 1"), "a = 1");
  EXPECT_EQ(without_actions(""), "");
}

TEST(ContainerdTemplateTest, SaysWhatIsStartedAgain) {
  EXPECT_EQ(restart_of_template("/etc/containerd/config.toml"), "");
  EXPECT_NE(restart_of_template("/k3s/config.toml.tmpl").find("restart k3s"), std::string::npos);
  EXPECT_NE(restart_of_template("/v/rke2/c.toml.tmpl").find("rke2-agent"), std::string::npos);
  EXPECT_EQ(restart_of_template("/var/snap/microk8s/current/args/containerd-template.toml"),
            "snap restart microk8s");
}

}  // namespace
}  // namespace hook::engines
