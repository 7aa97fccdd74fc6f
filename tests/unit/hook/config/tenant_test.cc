// SPDX-License-Identifier: Apache-2.0
#include "hook/config/tenant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/config/config.h"
#include "hook/config/tenant_fault.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

using namespace base::names;

Result<Config> parse_tenants(const std::string& tenants) {
  const std::string pool = "[pool]\nname = \"cards\"\nprovider = \"pcie\"\n";
  return parse_config(pool + tenants, "/etc/x.toml",
                      {{}, "/no/vipu-cli.hcl", "/no/dev", "/no/ipuof.conf.d"});
}

TEST(Tenants, HaveEveryKeyOfTheFile) {
  const Result<Config> config = parse_tenants(R"(
[policy]
default_tenant = "b"
[[tenant]]
name = "a"
guaranteed = 8
limit = 16
max_wait = "2m"
max_waiters = 3
may_reserve = false
borrow_time = "1h"
users = [1001, 1002]
[[tenant]]
name = "b"
)");
  ASSERT_TRUE(test::succeeds(config));
  const PolicyConfig& policy = config.value().policy;
  ASSERT_EQ(policy.tenants.size(), 2U);
  const TenantConfig& a = policy.tenants[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.guaranteed, 8U);
  EXPECT_EQ(a.limit, 16U);
  EXPECT_EQ(a.max_wait, std::chrono::minutes(2));
  EXPECT_EQ(a.max_waiters, 3U);
  EXPECT_FALSE(a.may_reserve);
  EXPECT_EQ(a.borrow_time, std::chrono::hours(1));
  EXPECT_THAT(a.users, testing::ElementsAre(1001, 1002));
  const TenantConfig& b = policy.tenants[1];
  EXPECT_EQ(b.guaranteed, 0U);
  EXPECT_EQ(b.limit, UINT32_MAX);
  EXPECT_FALSE(b.max_wait.has_value());
  EXPECT_TRUE(b.may_reserve);
  EXPECT_EQ(b.borrow_time.count(), 0);
}

TEST(Tenants, AreRefusedByKey) {
  const std::pair<const char*, const char*> cases[] = {
      {"[[tenant]]\n", "tenant.name"},
      {"[[tenant]]\nname = \"a b\"\n", "tenant.name must be 1 to 63 of A-Z"},
      {"[[tenant]]\nname = \"a\"\nguaranteed = 8\nlimit = 4\n",
       "tenant.limit must be at least what is guaranteed to tenant 'a', 8"},
      {"[[tenant]]\nname = \"a\"\nguarantee = 8\n", "tenant.guarantee"},
      {"[[tenant]]\nname = \"a\"\n[[tenant]]\nname = \"a\"\n",
       "tenant.name must be unique: there are two tenants 'a'"},
      {"[[tenant]]\nname = \"a\"\nusers = [7]\n[[tenant]]\nname = \"b\"\nusers = [7]\n",
       "tenant.users must be of this tenant alone; user 7 is listed twice"},
      {"[policy]\ndefault_tenant = \"c\"\n[[tenant]]\nname = \"a\"\n",
       "policy.default_tenant must be one of the tenants of this file: a"}};
  for (const auto& [text, error] : cases)
    EXPECT_TRUE(test::fails(parse_tenants(text), Code::kInvalid, error)) << text;
}

std::string fault_of(const TenantConfig& tenant) {
  const std::optional<TenantFault> fault = find_fault(tenant);
  return fault ? str(fault->key, " must be ", fault->accepted) : "";
}

TEST(Tenants, HaveNoValueThatTheFileCouldNotHave) {
  using std::chrono::hours;
  EXPECT_EQ(fault_of({"a"}), "");
  EXPECT_EQ(fault_of({"a", 10'000, 10'000, hours(24), 10'000, true, hours(365 * 24)}), "");
  EXPECT_EQ(fault_of({"a", 8, 4}), "limit must be at least what is guaranteed to tenant 'a', 8");
  const std::pair<TenantConfig, const char*> cases[] = {
      {{""}, "name"},
      {{"a/b"}, "name"},
      {{std::string(64, 'a')}, "name"},
      {{"a", 10'001}, "guaranteed"},
      {{"a", 0, 10'001}, "limit"},
      {{"a", 0, 4, hours(25)}, "max_wait"},
      {{"a", 0, 4, {}, 10'001}, "max_waiters"},
      {{"a", 0, 4, {}, 4, true, hours(366 * 24)}, "borrow_time"}};
  for (const auto& [tenant, key] : cases)
    EXPECT_EQ(fault_of(tenant).substr(0, fault_of(tenant).find(' ')), key);
}

TEST(Tenants, AreChosenByWordThenUserThenDefault) {
  PolicyConfig policy;
  EXPECT_EQ(choose_tenant(policy, "any", -1, "it").value(), "any");
  EXPECT_EQ(choose_tenant(policy, "", 1001, "it").value(), "");
  policy.tenants = {{"a"}, {"b"}};
  policy.tenants[0].users = {1001};
  EXPECT_EQ(tenant_of_user(policy, 1001), "a");
  EXPECT_EQ(tenant_of_user(policy, 1002), "");
  EXPECT_EQ(tenant_of_user(policy, -1), "");
  EXPECT_EQ(choose_tenant(policy, "b", 1001, "it").value(), "b");
  EXPECT_EQ(choose_tenant(policy, "", 1001, "it").value(), "a");
  EXPECT_TRUE(test::fails(choose_tenant(policy, "", 1002, "the container"), Code::kDenied,
                          "the container names no tenant; give one of a, b"));
  EXPECT_TRUE(test::fails(choose_tenant(policy, "c", 1001, "it"), Code::kDenied,
                          "there is no tenant 'c' on this host"));
  policy.default_tenant = "b";
  EXPECT_EQ(choose_tenant(policy, "", 1002, "it").value(), "b");
}

}  // namespace
}  // namespace hook::config
