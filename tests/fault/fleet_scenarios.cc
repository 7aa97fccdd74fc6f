// SPDX-License-Identifier: Apache-2.0
// What changes keys of a fleet.
#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "tests/fault/fleet_view.h"
#include "tests/fault/processes.h"
#include "tests/fault/promises.h"
#include "tests/fault/scenario.h"

namespace fault {

using namespace base::names;

namespace {

constexpr const char* kFleetJob = "job";
constexpr const char* kShared = "p0";

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Status share_now() {
  return must_run(World::ipuctl({"partition", "create", kShared, "--size", "4"}));
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

Result<Program> fence(World&) {
  TRY(share_now());
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

// The fleet's one warm partition; empty: there is none, or it is not idle.
Result<std::string> idle_one() {
  const FleetView view = TRY(read_fleet());
  const bool is_one = view.warm.size() == 1 && view.warm.begin()->second == "idle";
  return is_one ? view.warm.begin()->first : std::string();
}

Program refill_now() { return World::ipuctl({"pool", "refill"}); }

Result<Program> refill_fleet(World&) { return refill_now(); }

Result<std::string> is_refilled(World&) {
  const std::string name = TRY(idle_one());
  if (name.empty()) return std::string("refilled, and the fleet has no idle partition");
  const std::map<std::string, std::string> partitions = TRY(World::partitions());
  return std::string(partitions.contains(name) ? "" : "the idle partition is not there");
}

Result<Program> take_warm(World& world) {
  TRY(must_run(refill_now()));
  TRY(world.make_bundle(kFleetJob));
  return world.create(kFleetJob);
}

// A refill that the start begins makes another one beside.
Result<std::string> took_it(World& world) {
  const FleetView view = TRY(read_fleet());
  for (const FleetGrant& grant : view.grants)
    if (grant.container == kFleetJob && !grant.partition.empty())
      return check_created(world, kFleetJob);
  return std::string("created, and it did not take the warm partition");
}

// Its container has ended, and what it took is removed; the refill of its start has ended.
Result<Program> end_of_taker(World& world) {
  TRY(must_run(refill_now()));
  const Container* const job = TRY(world.attach_now(kFleetJob));
  TRY(settle());
  world.end_containers();
  return world.hook("poststop", *job);
}

Result<std::string> taker_is_released(World& world) { return check_released(world, kFleetJob); }

Result<Program> start_in_fleet(World& world) {
  TRY(world.make_bundle(kFleetJob));
  return world.create(kFleetJob);
}

Result<std::string> is_granted(World& world) {
  const FleetView view = TRY(read_fleet());
  for (const FleetGrant& grant : view.grants)
    if (grant.container == kFleetJob && grant.partition.empty())
      return check_created(world, kFleetJob);
  return std::string("created, and the fleet does not know of its IPUs");
}

// Nobody makes room in time.
Result<Program> wait_in_fleet(World& world) {
  TRY(world.make_bundle(kFleetJob, {{"IPU_COUNT=64", "IPU_WAIT=2s"}}));
  return world.create(kFleetJob);
}

Result<std::string> got_none(World&) {
  return std::string("created, although the bystander has IPUs of the pool");
}

Result<Program> reserve_in_fleet(World&) {
  return World::ipuctl({"reserve", "night", "--ipus", "4"});
}

Result<std::string> is_reserved(World& world) {
  const FleetView view = TRY(read_fleet());
  for (const FleetGrant& grant : view.grants)
    if (grant.container.empty()) return check_partition_ready(world, grant.id);
  return std::string("reserved, and the fleet does not know of its IPUs");
}

}  // namespace

std::vector<Scenario> fleet_scenarios() {
  constexpr Settings kFleet{false, false, true};
  constexpr Settings kWarm{false, true, true};
  return {{"fleet-beat", Bystander::kYes, kFleet, beat, is_alive, beats_again},
          {"fleet-fence", Bystander::kYes, kFleet, fence, is_fenced, fence_goes_on},
          {"fleet-grant", Bystander::kYes, kFleet, start_in_fleet, is_granted},
          {"fleet-queue", Bystander::kYes, kFleet, wait_in_fleet, got_none},
          {"fleet-reserve", Bystander::kYes, kFleet, reserve_in_fleet, is_reserved},
          {"fleet-warm-refill", Bystander::kYes, kWarm, refill_fleet, is_refilled},
          {"fleet-warm-take", Bystander::kYes, kWarm, take_warm, took_it},
          {"fleet-warm-end", Bystander::kYes, kWarm, end_of_taker, taker_is_released}};
}

}  // namespace fault
