// SPDX-License-Identifier: Apache-2.0
#include "hook/config/tenant.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/policy.h"
#include "hook/config/section.h"
#include "hook/config/tenant_fault.h"

namespace hook::config {
namespace {

using namespace base::names;

constexpr const char* kIpus = "a number of IPUs from 0 to 10000";
constexpr const char* kPlaces = "a number from 0 to 10000";
constexpr const char* kName = "1 to 63 of A-Z, a-z, 0-9, '.', '-' and '_'";
constexpr const char* kAllocation =
    "the name of a V-IPU allocation, 1 to 128 characters without blanks";
constexpr uint32_t kNoLimit = UINT32_MAX;

bool is_tenant_name(std::string_view name) {
  constexpr size_t kLongest = 63;  // of a Kubernetes namespace
  const auto is_known = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kLongest &&
         std::all_of(name.begin(), name.end(), is_known);
}

bool is_allocation_name(std::string_view name) {
  constexpr size_t kLongest = 128;
  return name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isgraph(c) != 0;
         });
}

bool is_number(uint32_t number) { return number <= kMostTenantNumber; }

bool is_time(std::chrono::milliseconds time, std::chrono::milliseconds longest) {
  return time.count() >= 0 && time <= longest;
}

Status read_numbers(const Section& section, TenantConfig& tenant) {
  const auto guaranteed = TRY(section.find_number("guaranteed", 0, kMostTenantNumber, kIpus));
  const auto limit = TRY(section.find_number("limit", 0, kMostTenantNumber, kIpus));
  const auto places = TRY(section.find_number("max_waiters", 0, kMostTenantNumber, kPlaces));
  if (guaranteed) tenant.guaranteed = static_cast<uint32_t>(*guaranteed);
  if (limit) tenant.limit = static_cast<uint32_t>(*limit);
  if (places) tenant.max_waiters = static_cast<uint32_t>(*places);
  return {};
}

Result<TenantConfig> read_tenant(const Section& section) {
  TRY(section.refuse_unknown({"name", "guaranteed", "limit", "max_wait", "max_waiters",
                              "may_reserve", "borrow_time", "users", "allocation"}));
  TenantConfig tenant;
  tenant.name = TRY(section.get_text("name", kName));
  TRY(read_numbers(section, tenant));
  tenant.max_wait = TRY(section.find_duration("max_wait", kLongestTenantWait));
  tenant.may_reserve = TRY(section.find_flag("may_reserve")).value_or(true);
  tenant.borrow_time =
      TRY(section.find_duration("borrow_time", kLongestBorrowTime)).value_or(tenant.borrow_time);
  const std::optional<std::string> allocation = TRY(section.find_text("allocation", kAllocation));
  if (allocation && allocation->empty()) return section.wrong("allocation", kAllocation);
  tenant.allocation = allocation.value_or("");
  const std::optional<TenantFault> fault = find_fault(tenant);
  if (fault) return section.wrong(fault->key, fault->accepted);
  tenant.users = TRY(section.find_numbers("users", "a list of uids, such as [1001, 1002]"));
  return tenant;
}

}  // namespace

std::optional<TenantFault> find_fault(const TenantConfig& tenant) {
  if (!is_tenant_name(tenant.name)) return TenantFault{"name", kName};
  if (!is_number(tenant.guaranteed)) return TenantFault{"guaranteed", kIpus};
  if (tenant.limit != kNoLimit && !is_number(tenant.limit)) return TenantFault{"limit", kIpus};
  if (tenant.limit < tenant.guaranteed) {
    return TenantFault{"limit", str("at least what is guaranteed to tenant ", quote(tenant.name),
                                    ", ", tenant.guaranteed)};
  }
  if (tenant.max_wait && !is_time(*tenant.max_wait, kLongestTenantWait))
    return TenantFault{"max_wait", "at most 24h"};
  if (tenant.max_waiters != UINT32_MAX && !is_number(tenant.max_waiters))
    return TenantFault{"max_waiters", kPlaces};
  if (!is_time(tenant.borrow_time, kLongestBorrowTime))
    return TenantFault{"borrow_time", "at most 365d"};
  if (!is_allocation_name(tenant.allocation)) return TenantFault{"allocation", kAllocation};
  return std::nullopt;
}

Result<std::vector<TenantConfig>> read_tenants(const Section& root) {
  std::vector<TenantConfig> tenants;
  std::set<uint32_t> users;
  for (const Section& section : TRY(root.find_tables("tenant"))) {
    TenantConfig tenant = TRY(read_tenant(section));
    if (find_tenant(tenants, tenant.name) != nullptr)
      return section.wrong("name", str("unique: there are two tenants ", quote(tenant.name)));
    for (const uint32_t user : tenant.users) {
      if (users.insert(user).second) continue;
      return section.wrong("users", str("of this tenant alone; user ", user, " is listed twice"));
    }
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

const TenantConfig* find_tenant(const std::vector<TenantConfig>& tenants, const std::string& name) {
  const auto found = std::find_if(tenants.begin(), tenants.end(),
                                  [&](const TenantConfig& one) { return one.name == name; });
  return found == tenants.end() ? nullptr : &*found;
}

std::string tenant_of_user(const PolicyConfig& policy, int64_t user) {
  const auto is_it = [&](uint32_t uid) { return int64_t{uid} == user; };
  for (const TenantConfig& one : policy.tenants)
    if (std::any_of(one.users.begin(), one.users.end(), is_it)) return one.name;
  return "";
}

Result<std::string> choose_tenant(const PolicyConfig& policy, const std::string& given,
                                  int64_t user, std::string_view what) {
  std::string tenant = given.empty() ? tenant_of_user(policy, user) : given;
  if (tenant.empty()) tenant = policy.default_tenant;
  if (policy.tenants.empty() || find_tenant(policy.tenants, tenant) != nullptr) return tenant;
  const std::string known = names_of(policy.tenants);
  if (!tenant.empty()) {
    return Error(Code::kDenied, str("there is no tenant ", quote(tenant),
                                    " on this host, of which ", what, " would be; the tenants are ",
                                    known, "; an administrator can add one to config.toml"));
  }
  return Error(Code::kDenied,
               str(what, " names no tenant; give one of ", known,
                   ", or let an administrator set policy.default_tenant in config.toml"));
}

std::string names_of(const std::vector<TenantConfig>& tenants) {
  std::vector<std::string> names;
  for (const TenantConfig& tenant : tenants) names.push_back(tenant.name);
  return base::join(names, ", ");
}

}  // namespace hook::config
