// SPDX-License-Identifier: Apache-2.0
// What claims, resets, makes, shares and removes a partition that the hosts of a fleet know by
// name.
#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "tests/fault/fleet_view.h"
#include "tests/fault/processes.h"
#include "tests/fault/promises.h"
#include "tests/fault/resets.h"
#include "tests/fault/scenario.h"

namespace fault {

using namespace base::names;

namespace {

constexpr const char* kClaimer = "job";
constexpr const char* kBefore = "before";
constexpr const char* kNamed = "p0";
constexpr Settings kInFleet{false, false, true};

Ask ask_named(const char* more = "IPU_GCD=0") { return {{str("IPU_PARTITION=", kNamed), more}}; }

// Resets of kNamed since the start state.
const Resets& resets() {
  static const Resets kResets(kNamed);
  return kResets;
}

Program make_named(const char* gcds) {
  return World::ipuctl({"partition", "create", kNamed, "--size", "4", "--gcds", gcds});
}

// A container had it, and its host has given it back.
Status use_once(World& world) {
  TRY(world.create_now(kBefore, ask_named()));
  TRY(settle());
  TRY(must_run(World::ipuctl({"gc"})));
  return {};
}

Result<Program> claim_named(World& world, const Ask& ask = ask_named()) {
  TRY(resets().begin());
  TRY(world.make_bundle(kClaimer, ask));
  return world.create(kClaimer);
}

Result<Program> claim_clean(World& world) {
  TRY(must_run(make_named("1")));
  return claim_named(world);
}

Result<Program> claim_dirty(World& world) {
  TRY(must_run(make_named("1")));
  TRY(use_once(world));
  return claim_named(world);
}

// Its other GCD has a container, under which nothing is reset.
Result<Program> claim_beside(World& world) {
  TRY(must_run(make_named("2")));
  TRY(world.attach_now(kBefore, ask_named("IPU_GCD=1")));
  return claim_named(world);
}

// Nobody makes room in time.
Result<Program> claim_taken(World& world) {
  TRY(must_run(make_named("1")));
  TRY(world.attach_now(kBefore, ask_named()));
  return claim_named(world, ask_named("IPU_WAIT=2s"));
}

Result<std::string> has_claim(World& world) {
  const FleetView view = TRY(read_fleet());
  for (const FleetClaim& claim : view.claims)
    if (claim.container == kClaimer) return check_created(world, kClaimer);
  return std::string("created, without a claim");
}

Result<std::string> never_reset(World&) {
  const size_t count = TRY(resets().count());
  return count == 0 ? std::string() : str(kNamed, " was reset under a container");
}

Result<std::string> reset_first(World&) {
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  const LeaseRow* const lease = ledger ? ledger->of_container(kClaimer) : nullptr;
  const FleetView view = TRY(read_fleet());
  bool has_it = lease != nullptr && lease->state == "ALLOCATED";
  for (const FleetClaim& claim : view.claims) has_it = has_it || claim.uses;
  const size_t count = TRY(resets().count());
  return std::string(has_it && count == 0 ? "a container has what another one had, not reset" : "");
}

Result<std::string> got_taken(World&) {
  return std::string("created, although another container has the GCD");
}

// What the other container has stays, and nothing is reset under it.
Result<std::string> other_runs(World& world) {
  const std::string reset = TRY(never_reset(world));
  return reset.empty() ? check_attached(world, kBefore) : reset;
}

// ---- ends

Result<Program> end_of_claimer(World& world) {
  TRY(must_run(make_named("1")));
  const Container* const job = TRY(world.attach_now(kClaimer, ask_named()));
  world.end_containers();
  return world.hook("poststop", *job);
}

Result<std::string> claimer_is_released(World& world) { return check_released(world, kClaimer); }

Result<Program> gc_of_claimer(World& world) {
  TRY(must_run(make_named("1")));
  TRY(world.attach_now(kClaimer, ask_named()));
  world.end_containers();
  return World::ipuctl({"gc"});
}

Result<std::string> claimer_is_gone(World& world) {
  const FleetView view = TRY(read_fleet());
  if (!view.claims.empty()) return std::string("given back, and there is a claim");
  return check_gone(world, kClaimer);
}

// ---- commands of an operator

Result<Program> make_in_fleet(World&) { return make_named("1"); }

Result<std::string> is_in_fleet(World& world) {
  const FleetView view = TRY(read_fleet());
  const FleetPartition* const partition = view.find(kNamed);
  if (partition == nullptr || partition->phase != "READY")
    return std::string("the fleet does not know it");
  return check_partition_ready(world, kNamed);
}

Result<Program> remove_in_fleet(World&) {
  TRY(must_run(make_named("1")));
  return World::ipuctl({"partition", "remove", kNamed});
}

Result<std::string> is_not_in_fleet(World& world) {
  const FleetView view = TRY(read_fleet());
  if (!view.partitions.empty()) return std::string("removed, and the fleet knows it");
  return check_partition_gone(world, kNamed);
}

Result<Program> reset_in_fleet(World& world) {
  TRY(must_run(make_named("1")));
  TRY(use_once(world));
  TRY(resets().begin());
  return World::ipuctl({"partition", "reset", kNamed});
}

Result<std::string> was_reset(World& world) {
  const FleetView view = TRY(read_fleet());
  if (!view.claims.empty()) return std::string("reset, and there is a claim");
  const FleetPartition* const partition = view.find(kNamed);
  if (partition == nullptr || partition->dirty)
    return std::string("reset, and another start resets it again");
  return check_partition_ready(world, kNamed);
}

Result<std::string> clean_if_reset(World&) {
  const FleetView view = TRY(read_fleet());
  const FleetPartition* const partition = view.find(kNamed);
  if (partition == nullptr) return std::string("the fleet lost it");
  const size_t count = TRY(resets().count());
  return std::string(!partition->dirty && count == 0 ? "it counts as reset, and was not" : "");
}

// ---- a host that has containers joins

// One has a named partition, and one its own IPUs.
Status run_before_fleet(World& world) {
  TRY(world.change({}));
  TRY(must_run(make_named("1")));
  TRY(world.attach_now(kClaimer, ask_named()));
  TRY(world.attach_now("own"));
  TRY(settle());
  return world.change(kInFleet);
}

Result<Program> join_by_beat(World& world) {
  TRY(run_before_fleet(world));
  return World::ipuctl({"fleet", "beat"});
}

Result<Program> join_by_gc(World& world) {
  TRY(run_before_fleet(world));
  return World::ipuctl({"gc"});
}

// Another GCD of the partition is asked for.
Result<Program> join_by_start(World& world) {
  TRY(world.change({}));
  TRY(must_run(make_named("2")));
  TRY(world.attach_now(kBefore, ask_named("IPU_GCD=1")));
  TRY(settle());
  TRY(world.change(kInFleet));
  return claim_named(world);
}

Result<std::string> has_joined(World& world) {
  const FleetView view = TRY(read_fleet());
  for (const FleetClaim& claim : view.claims)
    if (claim.container == kClaimer && claim.uses) return is_in_fleet(world);
  return std::string("joined, and others may claim what a container has");
}

Result<std::string> keeps_running(World& world) {
  const std::string own = TRY(check_attached(world, "own"));
  return own.empty() ? check_attached(world, kClaimer) : own;
}

// Wherever it was cut, a gc ends it.
Result<std::string> joins_by_the_next(World& world) {
  const std::string failed = TRY(why_it_fails(World::ipuctl({"gc"})));
  const std::string stopped = TRY(keeps_running(world));
  if (!failed.empty() || !stopped.empty()) return failed + stopped;
  const FleetView view = TRY(read_fleet());
  for (const FleetGrant& grant : view.grants)
    if (grant.container == "own") return has_joined(world);
  return std::string("the fleet does not know of the IPUs of a container");
}

}  // namespace

std::vector<Scenario> claim_scenarios() {
  constexpr auto kWith = Bystander::kYes;
  const Ask named = ask_named();
  return {{"fleet-claim", kWith, kInFleet, claim_clean, has_claim, never_reset, named},
          {"fleet-claim-dirty", kWith, kInFleet, claim_dirty, has_claim, reset_first, named},
          {"fleet-claim-beside", kWith, kInFleet, claim_beside, has_claim, other_runs, named},
          {"fleet-claim-taken", kWith, kInFleet, claim_taken, got_taken, other_runs, named},
          {"fleet-claim-end", kWith, kInFleet, end_of_claimer, claimer_is_released, {}, named},
          {"fleet-claim-gc", kWith, kInFleet, gc_of_claimer, claimer_is_gone, {}, named},
          {"fleet-make", kWith, kInFleet, make_in_fleet, is_in_fleet},
          {"fleet-remove", kWith, kInFleet, remove_in_fleet, is_not_in_fleet},
          {"fleet-reset", kWith, kInFleet, reset_in_fleet, was_reset, clean_if_reset, named},
          {"fleet-join", kWith, kInFleet, join_by_beat, has_joined, joins_by_the_next, named},
          {"fleet-join-gc", kWith, kInFleet, join_by_gc, has_joined, joins_by_the_next, named},
          {"fleet-join-start", kWith, kInFleet, join_by_start, has_claim, other_runs, named}};
}

}  // namespace fault
