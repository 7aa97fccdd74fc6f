// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/tenant.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/request/request.h"
#include "hook/container/request/tenant.h"

namespace front {
namespace {

using namespace base::names;

constexpr const char* kTenant = "IPU_TENANT";

bool has_value(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  return found != variables.end() && found->second.has_value();
}

bool names_tenant(const Caller& caller, const DockerArguments& docker,
                  const Variables& explicit_ones) {
  const bool has_account =
      caller.allows_tenant_variable && has_value(explicit_ones, hook::request::kSlurmAccount);
  if (has_account || has_value(explicit_ones, kTenant)) return true;
  const std::string start = str(hook::request::annotation_of(kTenant), '=');
  return std::any_of(docker.options.begin(), docker.options.end(), [&](const DockerOption& one) {
    return one.name == "annotation" && one.value.starts_with(start);
  });
}

std::string refused_note(const Caller& caller) {
  const std::string& other = caller.default_tenant;
  const std::string annotation =
      str(hook::request::annotation_of(kTenant), '=', base::one_line(caller.tenant, 64));
  return str("tenant ", quote(caller.tenant),
             " has you in its list, but policy.tenant_variable in config.toml lets no variable name"
             " a tenant, so ",
             other.empty() ? std::string("the container names none, and the runtime refuses it")
                           : str("the container counts for tenant ", quote(other)),
             "; ask an administrator to set policy.tenant_variable = true",
             other.empty() ? " or policy.default_tenant" : "",
             caller.allows_annotations
                 ? str(", or give --annotation ", annotation, " with docker 24 or later")
                 : "");
}

}  // namespace

uid_t calling_user(uid_t uid, const Variables& environment, std::optional<uid_t> logged_in) {
  if (uid != 0) return uid;  // anybody can set SUDO_UID
  constexpr uint32_t kLargest = UINT32_MAX - 1;
  const auto text = environment.find("SUDO_UID");
  if (text != environment.end()) {
    const Result<uint32_t> sudo = base::parse_int<uint32_t>(text->second.value_or(""), 1, kLargest);
    if (sudo.ok()) return sudo.value();
  }
  return logged_in.value_or(uid);
}

void ask_tenant(const Caller& caller, const DockerArguments& docker, const Variables& explicit_ones,
                Asked& asked) {
  const bool is_needed = !caller.tenant.empty() && caller.engine == "docker" &&
                         !names_tenant(caller, docker, explicit_ones);
  if (!is_needed) return;
  if (caller.allows_tenant_variable || !caller.allows_variables) {
    asked.variables.emplace_back(kTenant, caller.tenant);
  } else if (caller.tenant != caller.default_tenant) {
    asked.notes.push_back(refused_note(caller));
  }
}

}  // namespace front
