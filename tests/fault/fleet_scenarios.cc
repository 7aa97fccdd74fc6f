// SPDX-License-Identifier: Apache-2.0
// What changes keys of a fleet.
#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "tests/fault/fleet_view.h"
#include "tests/fault/promises.h"
#include "tests/fault/scenario.h"

namespace fault {

using namespace base::names;

namespace {

constexpr const char* kJob = "job";
constexpr const char* kShared = "p0";

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Result<Program> share(World&) {
  return World::ipuctl({"partition", "create", kShared, "--size", "4"});
}

Status share_now(World& world) {
  const Program create = TRY(share(world));
  return must_run(create);
}

Result<Program> claim(World& world) {
  TRY(share_now(world));
  TRY(world.make_bundle(kJob, {{str("IPU_PARTITION=", kShared)}}));
  return world.create(kJob);
}

Result<std::string> claimed(World& world) {
  const FleetView view = TRY(read_fleet());
  if (view.claims.size() != 1) return str("created, with ", view.claims.size(), " claims");
  return check_created(world, kJob);
}

Result<std::string> is_shared(World& world) {
  FleetView view = TRY(read_fleet());
  if (view.partitions[kShared] != "READY") return std::string("the fleet does not know it");
  return check_partition_ready(world, kShared);
}

Result<Program> remove_shared(World& world) {
  TRY(share_now(world));
  return World::ipuctl({"partition", "remove", kShared});
}

Result<std::string> is_unshared(World& world) {
  const FleetView view = TRY(read_fleet());
  if (!view.partitions.empty()) return std::string("removed, and the fleet knows it");
  return check_partition_gone(world, kShared);
}

Result<Program> beat(World&) { return World::ipuctl({"fleet", "beat"}); }

Result<std::string> is_alive(World&) {
  const FleetView view = TRY(read_fleet());
  return std::string(view.alive.size() == 1 ? "" : "the host's key is not there");
}

// Wherever it was cut, the next one says so.
Result<std::string> beats_again(World& world) {
  TRY(must_run(World::ipuctl({"fleet", "beat"})));
  return is_alive(world);
}

Program fence_again() { return World::ipuctl({"host", "fence", kDeadHost}); }

Result<Program> fence(World& world) {
  TRY(share_now(world));
  TRY(put_dead_host(kShared));
  return fence_again();
}

Result<std::string> is_fenced(World&) {
  const FleetView view = TRY(read_fleet());
  if (!has(view.fenced, kDeadHost)) return std::string("fenced, and the fleet does not say so");
  return std::string(view.claims.empty() ? "" : "fenced, and it has a claim");
}

// A claim never goes before the host is fenced; and another fence ends what was cut.
Result<std::string> fence_goes_on(World& world) {
  const FleetView view = TRY(read_fleet());
  if (view.claims.empty() && !has(view.fenced, kDeadHost))
    return std::string("its claim is gone, and it may claim again");
  TRY(must_run(fence_again()));
  return is_fenced(world);
}

}  // namespace

std::vector<Scenario> fleet_scenarios() {
  constexpr Settings kFleet{false, false, true};
  return {{"fleet-claim", Bystander::kYes, kFleet, claim, claimed},
          {"fleet-make", Bystander::kYes, kFleet, share, is_shared},
          {"fleet-remove", Bystander::kYes, kFleet, remove_shared, is_unshared},
          {"fleet-beat", Bystander::kYes, kFleet, beat, is_alive, beats_again},
          {"fleet-fence", Bystander::kYes, kFleet, fence, is_fenced, fence_goes_on}};
}

}  // namespace fault
