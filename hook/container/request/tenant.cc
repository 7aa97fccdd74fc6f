// SPDX-License-Identifier: Apache-2.0
#include "hook/container/request/tenant.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/pod.h"
#include "hook/container/request/request.h"

namespace hook::request {
namespace {

using namespace base::names;

constexpr size_t kMaxTenant = 64;

std::string value_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& variable : environment) {
    if (!variable.starts_with(name) || variable.size() <= name.size()) continue;
    if (variable[name.size()] == '=') return variable.substr(name.size() + 1);
  }
  return "";
}

}  // namespace

Result<std::string> tenant_by(const TenantWords& words, const config::PolicyConfig& policy,
                              std::vector<std::string>& ignored) {
  const std::string given = base::one_line(words.given, kMaxTenant);
  const std::string space = base::one_line(TRY(oci::namespace_of(words.annotations)), kMaxTenant);
  if (!space.empty()) {
    if (!given.empty() && given != space) {
      ignored.push_back(str(words.annotated ? annotation_of("IPU_TENANT") : "IPU_TENANT", "=",
                            quote(given),
                            " is not honoured, because the tenant of a pod is its"
                            " namespace ",
                            quote(space)));
    }
    return space;
  }
  if (!policy.tenants.empty() && oci::is_of_pod(words.annotations)) {
    return Error(Code::kDenied,
                 "the container is in a pod, whose tenant is its namespace, and the engine does not"
                 " say the namespace; use an engine that sets annotation"
                 " 'io.kubernetes.cri.sandbox-namespace' (containerd) or"
                 " 'io.kubernetes.pod.namespace' (CRI-O)");
  }
  if (!given.empty()) return given;
  if (!policy.tenant_variable || words.image_account) return std::string();
  return base::one_line(value_in(words.environment, kSlurmAccount), kMaxTenant);
}

Status settle_tenant(Request& request, const config::PolicyConfig& policy, int64_t user) {
  request.tenant = TRY(config::choose_tenant(policy, request.tenant, user, "the container"));
  const config::TenantConfig* const tenant = config::find_tenant(policy.tenants, request.tenant);
  if (tenant == nullptr || !tenant->max_wait || request.wait <= *tenant->max_wait) return {};
  return Error(Code::kDenied,
               str("a wait of ", base::format_duration(request.wait), " is longer than ",
                   base::format_duration(*tenant->max_wait), ", which max_wait of tenant ",
                   quote(request.tenant), " allows; give a shorter IPU_WAIT"));
}

}  // namespace hook::request
