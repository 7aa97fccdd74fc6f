// SPDX-License-Identifier: Apache-2.0
#include "hook/config/wall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

using namespace base::names;

TenantConfig tenant(const std::string& name, const std::string& allocation) {
  TenantConfig tenant;
  tenant.name = name;
  tenant.allocation = allocation;
  return tenant;
}

PoolConfig pool(const std::string& allocation) {
  PoolConfig pool;
  pool.name = "pod64";
  pool.controller = "10.5.1.254:8090";
  pool.allocation = allocation;
  return pool;
}

TEST(Wall, DoesNotStandWhereNoTenantHasAnAllocation) {
  const Wall wall = find_wall(pool("all"), {tenant("a", "")}, {}, "a").take();
  EXPECT_FALSE(wall.stands);
  EXPECT_EQ(wall.allocation, "all");
  EXPECT_TRUE(test::succeeds(check_new(wall, "p", "elsewhere")));
  EXPECT_TRUE(test::succeeds(check_made(wall, "p", "elsewhere")));
  EXPECT_TRUE(test::succeeds(find_wall(pool(""), {tenant("a", "")}, {}, "a")));
}

TEST(Wall, KeepsATenantToItsAllocationWhoeverSaysIt) {
  const std::vector<TenantConfig> some = {tenant("a", "x"), tenant("b", "y")};
  const std::vector<TenantConfig> none;
  for (const auto& [of_host, of_fleet] : {std::pair(some, none), std::pair(none, some)}) {
    const Wall wall = find_wall(pool("rest"), of_host, of_fleet, "a").take();
    EXPECT_TRUE(wall.stands);
    EXPECT_EQ(wall.allocation, "x");
    EXPECT_TRUE(test::succeeds(check_new(wall, "p", "x")));
    EXPECT_TRUE(test::fails(check_new(wall, "p", "y"), Code::kInternal,
                            "made partition 'p' in allocation 'y' instead of 'x'"));
    EXPECT_TRUE(test::fails(check_new(wall, "p", ""), Code::kInternal, "does not tell"));
    EXPECT_TRUE(test::succeeds(check_made(wall, "p", "x")));
    for (const char* const other : {"y", "rest", ""})
      EXPECT_TRUE(test::fails(check_made(wall, "p", other), Code::kDenied,
                              "tenant 'a' is kept to allocation 'x'"));
  }
}

TEST(Wall, KeepsOtherTenantsOutOfIt) {
  const std::vector<TenantConfig> tenants = {tenant("a", "x"), tenant("b", "y"), tenant("c", "")};
  for (const char* const other : {"c", ""}) {
    const Wall wall = find_wall(pool("rest"), tenants, {}, other).take();
    EXPECT_EQ(wall.allocation, "rest");
    EXPECT_TRUE(test::succeeds(check_new(wall, "p", "rest")));
    EXPECT_TRUE(test::fails(check_new(wall, "p", "x"), Code::kInternal));
    EXPECT_TRUE(test::succeeds(check_made(wall, "p", "rest")));
    EXPECT_TRUE(test::succeeds(check_made(wall, "p", "of-nobody")));
    for (const char* const walled : {"x", "y", ""})
      EXPECT_TRUE(test::fails(check_made(wall, "p", walled), Code::kDenied,
                              "which may be another tenant's"));
  }
}

TEST(Wall, NeedsAnAllocationOfNobodyForTenantsWithoutOne) {
  const std::vector<TenantConfig> tenants = {tenant("a", "x"), tenant("c", "")};
  EXPECT_TRUE(test::fails(find_wall(pool(""), tenants, {}, "c"), Code::kInvalid,
                          "pool 'pod64' has no allocation, so tenant 'c' could get IPUs"));
  EXPECT_TRUE(test::fails(find_wall(pool("x"), {}, tenants, "c"), Code::kInvalid,
                          "allocation 'x' of pool 'pod64' is a tenant's"));
  EXPECT_TRUE(test::succeeds(find_wall(pool(""), tenants, {}, "a")));
  EXPECT_TRUE(
      test::fails(check_pool(pool(""), tenants, {}), Code::kInvalid, "set pool.allocation"));
  EXPECT_TRUE(test::succeeds(check_pool(pool("rest"), tenants, {})));
}

TEST(Wall, NeedsAnAllocationForWarmPartitions) {
  PoolConfig warm = pool("");
  warm.warm = {{4, 1}};
  const std::vector<TenantConfig> walled = {tenant("a", "x"), tenant("b", "y")};
  EXPECT_TRUE(test::fails(check_pool(warm, walled, {}), Code::kInvalid, "a warm partition"));
  warm.allocation = "x";  // those are for tenant a
  EXPECT_TRUE(test::succeeds(check_pool(warm, walled, {})));
}

TEST(Wall, IsTheSameOnTheHostAndInTheFleet) {
  EXPECT_TRUE(test::fails(find_wall(pool("rest"), {tenant("a", "x")}, {tenant("a", "y")}, "a"),
                          Code::kInvalid, "has allocation 'x' in config.toml, and 'y'"));
  EXPECT_EQ(find_wall(pool("rest"), {tenant("a", "x")}, {tenant("a", "")}, "a").take().allocation,
            "x");
}

TEST(Wall, IsOfVIpuAlone) {
  PoolConfig cards;
  cards.provider = Provider::kPcie;
  EXPECT_FALSE(find_wall(cards, {tenant("a", "x")}, {}, "a").take().stands);
  EXPECT_TRUE(test::succeeds(check_pool(cards, {tenant("a", "x"), tenant("c", "")}, {})));
}

Result<Config> parse(const std::string& pool, const std::string& tenants) {
  return parse_config(
      str("[pool]\nname = \"p\"\nprovider = \"vipu\"\ncontroller = \"10.1.3.1:8090\"\n", pool, R"(
[[network.rail]]
parent = "rnic0"
subnet = "10.5.0.0/16"
range = "10.5.200.10-10.5.200.99"
)",
          tenants),
      "/etc/x.toml", {{}, "/no/vipu-cli.hcl", "/no/dev", "/no/ipuof.conf.d"});
}

TEST(Wall, OfTheFileIsCheckedWhenItIsRead) {
  const std::string walled = "[[tenant]]\nname = \"a\"\nallocation = \"x\"\n";
  const std::string open = "[[tenant]]\nname = \"c\"\n";
  const Result<Config> config = parse("allocation = \"rest\"\n", walled + open);
  ASSERT_TRUE(test::succeeds(config));
  EXPECT_EQ(config.value().policy.tenants[0].allocation, "x");
  EXPECT_TRUE(test::succeeds(parse("", walled)));
  EXPECT_TRUE(test::fails(parse("", walled + open), Code::kInvalid,
                          "/etc/x.toml: pool 'p' has no allocation, so tenant 'c' could get"));
  EXPECT_TRUE(
      test::fails(parse("allocation = \"x\"\n", walled + open), Code::kInvalid, "is a tenant's"));
  EXPECT_TRUE(test::fails(parse("", "[[tenant]]\nname = \"a\"\nallocation = \"\"\n"),
                          Code::kInvalid, "tenant.allocation must be the name"));
  EXPECT_TRUE(test::fails(parse("", "[[tenant]]\nname = \"a\"\nallocation = \"a b\"\n"),
                          Code::kInvalid, "without blanks"));
  EXPECT_TRUE(test::fails(
      parse_config("[pool]\nname = \"c\"\nprovider = \"pcie\"\n" + walled, "/etc/x.toml", {}),
      Code::kInvalid, "left out without a pool of provider vipu"));
}

}  // namespace
}  // namespace hook::config
