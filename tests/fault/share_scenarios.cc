// SPDX-License-Identifier: Apache-2.0
// What a tenant has of a fleet, which is counted by what containers have, and changes of its share.
#include "base/names.h"
#include "base/text.h"
#include "tests/fault/fleet_view.h"
#include "tests/fault/processes.h"
#include "tests/fault/promises.h"
#include "tests/fault/scenario.h"

namespace fault {

using namespace base::names;

namespace {

constexpr const char* kOfTenant = "job";
constexpr const char* kTenant = "vision";
constexpr const char* kOfAll = "p0";
constexpr Settings kShares{false, false, true, true};
constexpr Settings kWarmShares{false, true, true, true};

Ask ask_for_tenant(const std::string& what) { return {{what, str("IPU_TENANT=", kTenant)}}; }
Ask ask_four() { return ask_for_tenant("IPU_COUNT=4"); }
Ask ask_partition() { return ask_for_tenant(str("IPU_PARTITION=", kOfAll)); }

Program set_limit(const char* limit) {
  return World::ipuctl({"tenant", "set", kTenant, "--limit", limit});
}

// As many IPUs as one container has: what is counted for none that is there keeps all out.
Status limit_to_one() { return must_run(set_limit("4")); }

Status make_for_all() {
  return must_run(World::ipuctl({"partition", "create", kOfAll, "--size", "4"}));
}

Result<Program> start_in_share(World& world) {
  TRY(limit_to_one());
  TRY(world.make_bundle(kOfTenant, ask_four()));
  return world.create(kOfTenant);
}

Result<Program> claim_in_share(World& world) {
  TRY(limit_to_one());
  TRY(make_for_all());
  TRY(world.make_bundle(kOfTenant, ask_partition()));
  return world.create(kOfTenant);
}

Result<Program> take_in_share(World& world) {
  TRY(limit_to_one());
  TRY(must_run(World::ipuctl({"pool", "refill"})));
  TRY(world.make_bundle(kOfTenant, ask_four()));
  return world.create(kOfTenant);
}

Result<std::string> has_share(World& world) { return check_created(world, kOfTenant); }

// The first container of the tenant has all that the tenant may have.
Result<Program> start_over_share(World& world) {
  TRY(limit_to_one());
  TRY(world.attach_now("first", ask_four()));
  TRY(make_for_all());
  TRY(world.make_bundle(kOfTenant, ask_partition()));
  return world.create(kOfTenant);
}

Result<std::string> got_too_much(World&) {
  return std::string("created, although the tenant has all that it may have");
}

Result<std::string> first_has_its_share(World& world) {
  uint32_t held = 0;
  const FleetView view = TRY(read_fleet());
  for (const FleetGrant& grant : view.grants) held += grant.tenant == kTenant ? grant.ipus : 0;
  held += static_cast<uint32_t>(4 * view.claims.size());
  if (held > 4) return str("the tenant has ", held, " of 4 IPUs");
  return check_attached(world, "first");
}

// What the tenant waits for is not there.
Result<Program> wait_in_share(World& world) {
  TRY(must_run(set_limit("64")));
  TRY(world.make_bundle(kOfTenant, {{"IPU_COUNT=64", "IPU_WAIT=2s", str("IPU_TENANT=", kTenant)}}));
  return world.create(kOfTenant);
}

Result<std::string> got_what_is_taken(World&) {
  return std::string("created, although the bystander has IPUs of the pool");
}

Result<Program> reserve_in_share(World&) {
  TRY(limit_to_one());
  return World::ipuctl({"reserve", "night", "--ipus", "4", "--tenant", kTenant});
}

Result<std::string> is_reserved_in_share(World& world) {
  const FleetView view = TRY(read_fleet());
  for (const FleetGrant& grant : view.grants)
    if (grant.container.empty() && grant.tenant == kTenant)
      return check_partition_ready(world, grant.id);
  return std::string("reserved, and it does not count for the tenant");
}

// ---- ends

Result<Program> end_in_share(World& world) {
  TRY(limit_to_one());
  const Container* const job = TRY(world.attach_now(kOfTenant, ask_four()));
  world.end_containers();
  return world.hook("poststop", *job);
}

Result<Program> end_of_claim_in_share(World& world) {
  TRY(limit_to_one());
  TRY(make_for_all());
  const Container* const job = TRY(world.attach_now(kOfTenant, ask_partition()));
  world.end_containers();
  return world.hook("poststop", *job);
}

Result<std::string> gives_share_back(World& world) { return check_released(world, kOfTenant); }

// ---- the share itself

Result<Program> set_share(World&) { return set_limit("4"); }

Result<std::string> share_is_set(World&) {
  FleetView view = TRY(read_fleet());
  const bool is_set = view.tenants[kTenant].find("\"limit\":4,") != std::string::npos;
  return is_set ? std::string() : str("set, and the share is '", view.tenants[kTenant], "'");
}

Result<std::string> sets_again(World& world) {
  const std::string failed = TRY(why_it_fails(set_limit("4")));
  return failed.empty() ? share_is_set(world) : failed;
}

Result<Program> change_share(World&) {
  TRY(must_run(set_limit("64")));
  return set_limit("4");
}

// It is what it was, or what it is to be.
Result<std::string> changes_again(World& world) {
  FleetView view = TRY(read_fleet());
  const std::string share = view.tenants[kTenant];
  const bool is_old = share.find("\"limit\":64,") != std::string::npos;
  const std::string is_new = TRY(share_is_set(world));
  return is_old || is_new.empty() ? sets_again(world) : is_new;
}

Program remove_share_now() { return World::ipuctl({"tenant", "remove", kTenant}); }

Result<Program> remove_share(World&) {
  TRY(limit_to_one());
  return remove_share_now();
}

Result<std::string> has_no_share(World&) {
  const FleetView view = TRY(read_fleet());
  return std::string(view.tenants.empty() ? "" : "removed, and the tenant has a share");
}

Result<std::string> removes_again(World& world) {
  const FleetView view = TRY(read_fleet());
  if (view.tenants.empty()) return std::string();
  const std::string failed = TRY(why_it_fails(remove_share_now()));
  return failed.empty() ? has_no_share(world) : failed;
}

}  // namespace

std::vector<Scenario> share_scenarios() {
  constexpr auto kWith = Bystander::kYes;
  const Ask four = ask_four();
  const Ask named = ask_partition();
  return {
      {"fleet-share", kWith, kShares, start_in_share, has_share, {}, four},
      {"fleet-share-claim", kWith, kShares, claim_in_share, has_share, {}, named},
      {"fleet-share-warm", kWith, kWarmShares, take_in_share, has_share, {}, four},
      {"fleet-share-over", kWith, kShares, start_over_share, got_too_much, first_has_its_share,
       named},
      {"fleet-share-wait", kWith, kShares, wait_in_share, got_what_is_taken, {}, four},
      {"fleet-share-reserve", kWith, kShares, reserve_in_share, is_reserved_in_share},
      {"fleet-share-end", kWith, kShares, end_in_share, gives_share_back, {}, four},
      {"fleet-share-unclaim", kWith, kShares, end_of_claim_in_share, gives_share_back, {}, named},
      {"fleet-tenant-set", kWith, kShares, set_share, share_is_set, sets_again, four},
      {"fleet-tenant-change", kWith, kShares, change_share, share_is_set, changes_again, four},
      {"fleet-tenant-remove", kWith, kShares, remove_share, has_no_share, removes_again, four}};
}

}  // namespace fault
