// SPDX-License-Identifier: Apache-2.0
// The tenant of a container, by who says so.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/config/policy.h"

namespace hook::request {

// The account that Slurm sets in the environment of a job. Whoever submits the job, or starts a
// container, can set it too.
inline constexpr const char* kSlurmAccount = "SLURM_JOB_ACCOUNT";

// What is known of a container's tenant.
struct TenantWords {
  const std::map<std::string, std::string>& annotations;
  const std::vector<std::string>& environment;
  std::string given = {};  // by the annotation graphcore.ai/ipu.tenant or IPU_TENANT; may be empty
  bool annotated = false;  // whether GIVEN is of the annotation
  bool image_account = false;  // whether the image sets SLURM_JOB_ACCOUNT
};

// Returns the tenant, empty if nothing says it, by the first of: the namespace of its pod; the
// annotation; IPU_TENANT; SLURM_JOB_ACCOUNT, where the policy lets variables name the tenant. Adds
// a line to IGNORED if the namespace overrules another word. Fails as oci::namespace_of() does, and
// with kDenied if the policy has tenants and the engine gives a pod no namespace.
base::Result<std::string> tenant_by(const TenantWords& words, const config::PolicyConfig& policy,
                                    std::vector<std::string>& ignored);

}  // namespace hook::request
