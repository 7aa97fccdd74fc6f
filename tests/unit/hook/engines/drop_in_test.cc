// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/drop_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/outcome.h"
#include "tests/unit/hook/engines/entry.h"

namespace hook::engines {
namespace {

using base::Code;

const RuntimeEntry kDefault{"ipu", "/usr/bin/ipu-container-runtime", true};

TEST(DropInTest, SaysWhereTheRuntimeIs) {
  const std::string podman = podman_drop_in(kEntry);
  const std::string crio = crio_drop_in(kEntry);
  for (const Registered& found : {find_podman_runtime(podman, "ipu", "p").take(),
                                  find_crio_runtime(crio, "ipu", "c").take()}) {
    EXPECT_EQ(found.path, kEntry.path);
    EXPECT_FALSE(found.is_default);
  }
  EXPECT_TRUE(is_drop_in(podman));
  EXPECT_TRUE(is_drop_in(crio));
  EXPECT_FALSE(is_drop_in("[engine]\n"));
}

TEST(DropInTest, IsTheDefaultOnlyWhenAskedFor) {
  EXPECT_TRUE(find_podman_runtime(podman_drop_in(kDefault), "ipu", "p").take().is_default);
  EXPECT_TRUE(find_crio_runtime(crio_drop_in(kDefault), "ipu", "c").take().is_default);
}

TEST(DropInTest, PodmanTakesItsErrorsAsJsonAndThoseOfItsOwnRuntimesToo) {
  const std::string text = podman_drop_in(kEntry);
  for (const char* const name :
       {"\"ipu-container-runtime\", \"ipu\"]", "\"crun\"", "\"runc\"", "\"krun\"", "\"youki\""}) {
    EXPECT_THAT(text, testing::HasSubstr(name));
  }
}

TEST(DropInTest, CrioIsToldItsMonitorAndNoAnnotations) {
  RuntimeEntry entry = kEntry;
  EXPECT_EQ(crio_drop_in(entry).find("monitor_path"), std::string::npos);
  entry.monitor = "/usr/libexec/crio/conmon";
  const std::string text = crio_drop_in(entry);
  EXPECT_THAT(text, testing::HasSubstr(
                        "runtime_type = \"oci\"\nmonitor_path = \"/usr/libexec/crio/conmon\"\n"));
  // CRI-O would not start with one that is not its own.
  EXPECT_EQ(text.find("allowed_annotations"), std::string::npos);
}

TEST(DropInTest, WhatIsNotThereIsNotFound) {
  for (const FileText& text :
       {FileText(), FileText(""), FileText("[engine]\n"), FileText("[crio.runtime]\n"),
        FileText("[engine.runtimes]\nx = [\"/x\"]\n"),
        FileText("[crio.runtime.runtimes.x]\nruntime_path = \"/x\"\n")}) {
    EXPECT_EQ(find_podman_runtime(text, "ipu", "p").take().path, "");
    EXPECT_EQ(find_crio_runtime(text, "ipu", "c").take().path, "");
  }
  EXPECT_TRUE(test::fails(find_podman_runtime("[", "ipu", "p"), Code::kInvalid, "p line 1"));
  EXPECT_TRUE(test::fails(find_crio_runtime("[", "ipu", "c"), Code::kInvalid, "c line 1"));
}

}  // namespace
}  // namespace hook::engines
