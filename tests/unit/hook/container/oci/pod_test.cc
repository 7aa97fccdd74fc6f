// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/pod.h"

#include <gtest/gtest.h>

namespace hook::oci {
namespace {

TEST(SandboxOf, KnowsTheContainersOfAPodOfContainerd) {
  EXPECT_EQ(sandbox_of({{"io.kubernetes.cri.container-type", "container"},
                        {"io.kubernetes.cri.sandbox-id", "5a4d"}}),
            "5a4d");
}

TEST(SandboxOf, KnowsTheContainersOfAPodOfCrio) {
  EXPECT_EQ(sandbox_of({{"io.kubernetes.cri-o.ContainerType", "container"},
                        {"io.kubernetes.cri-o.SandboxID", "5a4d"}}),
            "5a4d");
}

TEST(SandboxOf, IsEmptyForTheSandboxItself) {
  EXPECT_EQ(sandbox_of({{"io.kubernetes.cri.container-type", "sandbox"},
                        {"io.kubernetes.cri.sandbox-id", "5a4d"}}),
            "");
}

TEST(SandboxOf, IsEmptyForOtherContainers) {
  EXPECT_EQ(sandbox_of({}), "");
  EXPECT_EQ(sandbox_of({{"io.kubernetes.cri.sandbox-id", "5a4d"}}), "");
  EXPECT_EQ(sandbox_of({{"io.kubernetes.cri.container-type", "container"}}), "");
}

TEST(IsOfPod, KnowsContainersAndSandboxes) {
  EXPECT_TRUE(is_of_pod({{"io.kubernetes.cri.container-type", "sandbox"}}));
  EXPECT_TRUE(is_of_pod({{"io.kubernetes.cri-o.ContainerType", "container"}}));
  EXPECT_FALSE(is_of_pod({{"io.kubernetes.cri.sandbox-id", "5a4d"}}));
  EXPECT_FALSE(is_of_pod({}));
}

}  // namespace
}  // namespace hook::oci
