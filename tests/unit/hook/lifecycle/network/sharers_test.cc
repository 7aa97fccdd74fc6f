// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/sharers.h"

#include <gtest/gtest.h>

#include "hook/config/paths.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::network {
namespace {

// How many of the host's addresses containers with BUNDLES in one namespace may not contact.
size_t guarded(test::HookHost& host, const std::vector<std::string>& bundles) {
  std::vector<ledger::Lease> leases;
  for (const std::string& bundle : bundles) {
    leases.emplace_back();
    leases.back().bundle = bundle;
  }
  return plan_of(host.env, leases).take().guarded.size();
}

TEST(SharersTest, JobsAloneMayContactTheHost) {
  test::HookHost host;
  host.env.host.addresses = []() -> base::Result<std::vector<netns::Address>> {
    return std::vector<netns::Address>{netns::parse_address("10.1.3.1").take()};
  };
  const std::string job = config::jobs_dir() + "/5";
  const size_t all = guarded(host, {"/bundle"});
  EXPECT_EQ(guarded(host, {job, job}), 1U) << "the link-local addresses of IPv6";
  EXPECT_GT(all, 1U);
  EXPECT_EQ(guarded(host, {job, "/bundle"}), all);
  for (const char* const other : {"", "/", "/x", "/5/", "/5/..", "/../5", "x/5"})
    EXPECT_EQ(guarded(host, {config::jobs_dir() + other}), all) << other;
}

}  // namespace
}  // namespace hook::lifecycle::network
