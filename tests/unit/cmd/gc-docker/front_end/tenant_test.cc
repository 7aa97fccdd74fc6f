// SPDX-License-Identifier: Apache-2.0
// The tenant of the calling user, and when it is said.
#include "cmd/gc-docker/front_end/tenant.h"

#include <gmock/gmock.h>

#include "tests/unit/cmd/gc-docker/front_end/callers.h"

namespace front {
namespace {

using testing::HasSubstr;
using testing::Not;

// A user of tenant "vision", on a host whose policy lets variables name a tenant.
Caller vision_user() {
  Caller caller = pod_host();
  caller.tenant = "vision";
  caller.default_tenant = "guest";
  caller.allows_tenant_variable = true;
  return caller;
}

TEST(CallingUserTest, SudoCountsForRootAlone) {
  const Variables sudo = {{"SUDO_UID", "1001"}};
  EXPECT_EQ(calling_user(1002, sudo, std::nullopt), 1002);
  EXPECT_EQ(calling_user(1002, {}, 1003), 1002);
  EXPECT_EQ(calling_user(0, sudo, 1003), 1001);
  EXPECT_EQ(calling_user(0, {}, 1003), 1003);
  EXPECT_EQ(calling_user(0, {}, std::nullopt), 0);
  for (const char* odd : {"", "0", "-1", "4294967295", "4294967296", "1001x", " 1001"})
    EXPECT_EQ(calling_user(0, {{"SUDO_UID", odd}}, 1003), 1003) << odd;
}

TEST(TenantTest, TheCallersIsSaid) {
  EXPECT_EQ(line(vision_user(), {"--count", "4", "--", "image"}),
            "docker run --runtime=ipu -e IPU_COUNT=4 -e IPU_TENANT=vision image");
  EXPECT_EQ(notes(vision_user(), {"--count", "4", "--", "image"}), "");
  // Also beside a request that stays as it is.
  EXPECT_EQ(line(vision_user(), {"--", "-e", "IPU_RESERVATION=night", "image"}),
            "docker run --runtime=ipu -e IPU_TENANT=vision -e IPU_RESERVATION=night image");
}

TEST(TenantTest, WhoIsOfNoTenantSaysNone) {
  Caller caller = vision_user();
  caller.tenant.clear();
  EXPECT_THAT(line(caller, {"--count", "4", "--", "image"}), Not(HasSubstr("IPU_TENANT")));
  EXPECT_EQ(notes(caller, {"--count", "4", "--", "image"}), "");
}

TEST(TenantTest, AnExplicitOneStays) {
  for (const char* own : {"-e=IPU_TENANT=nlp", "-e=IPU_TENANT=", "-e=SLURM_JOB_ACCOUNT=nlp",
                          "--annotation=graphcore.ai/ipu.tenant=nlp"}) {
    const std::string said = line(vision_user(), {"--count", "4", "--", own, "image"});
    EXPECT_THAT(said, Not(HasSubstr("vision"))) << own;
    EXPECT_THAT(said, HasSubstr(own)) << own;
  }
  // docker passes on nothing for a name that is not set.
  EXPECT_THAT(line(vision_user(), {"--count", "4", "--", "-e", "IPU_TENANT", "image"}),
              HasSubstr("-e IPU_TENANT=vision"));
  // What policy.tenant_variable does not let Slurm's variable say does not count.
  Caller caller = vision_user();
  caller.allows_tenant_variable = false;
  EXPECT_THAT(notes(caller, {"--count", "4", "--", "-e", "SLURM_JOB_ACCOUNT=nlp", "image"}),
              HasSubstr("tenant 'vision' has you in its list"));
}

TEST(TenantTest, WhatThePolicyRefusesIsNotSaid) {
  Caller caller = vision_user();
  caller.allows_tenant_variable = false;
  const Words args = {"--count", "4", "--", "image"};
  EXPECT_EQ(line(caller, args), "docker run --runtime=ipu -e IPU_COUNT=4 image");
  EXPECT_EQ(notes(caller, args),
            "tenant 'vision' has you in its list, but policy.tenant_variable in config.toml lets no"
            " variable name a tenant, so the container counts for tenant 'guest'; ask an"
            " administrator to set policy.tenant_variable = true, or give --annotation "
            "graphcore.ai/ipu.tenant=vision with"
            " docker 24 or later");
  caller.default_tenant.clear();
  caller.allows_annotations = false;
  EXPECT_EQ(
      notes(caller, args),
      "tenant 'vision' has you in its list, but policy.tenant_variable in config.toml lets no"
      " variable name a tenant, so the container names none, and the runtime refuses it; ask an"
      " administrator to set policy.tenant_variable = true or policy.default_tenant");
  caller.default_tenant = "vision";
  EXPECT_EQ(notes(caller, args), "");
}

TEST(TenantTest, APolicyOfAnnotationsGetsAnAnnotation) {
  Caller caller = vision_user();
  caller.allows_tenant_variable = false;
  caller.allows_variables = false;
  EXPECT_EQ(line(caller, {"--count", "4", "--", "image"}),
            "docker run --runtime=ipu --annotation graphcore.ai/ipu.count=4 --annotation"
            " graphcore.ai/ipu.tenant=vision image");
}

TEST(TenantTest, NeitherPodmanNorTheHostsNetworkGetsOne) {
  Caller caller = vision_user();
  caller.environment = {{"IPUOF_VIPU_API_PARTITION_ID", "p0"}};
  EXPECT_THAT(line(caller, {"--host-network", "--", "image"}), Not(HasSubstr("IPU_TENANT")));
  EXPECT_THAT(line(caller, {"--", "image"}), HasSubstr("IPU_TENANT"));
  caller.engine = "podman";
  EXPECT_THAT(line(caller, {"--count", "4", "--", "image"}), Not(HasSubstr("IPU_TENANT")));
}

}  // namespace
}  // namespace front
