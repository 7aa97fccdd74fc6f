// SPDX-License-Identifier: Apache-2.0
// What all processes share: how they end, the ledger's transactions, and the release.
#include <algorithm>

#include "tests/unit/hook/model/steps.h"

namespace model {
namespace {

using hook::ledger::Change;
using hook::ledger::LeaseState;

// Whether ACTOR, which takes LEASE over, takes it from a process that makes something for it.
bool takes_from_the_living(const World& world, uint8_t lease, Actor actor) {
  const Process& making = world.of(starter(lease));
  const Process& attaching = world.of(hook_of(lease));
  const bool is_made = making.step > Step::kIntend && making.step < Step::kRuntime;
  const bool is_attached = attaching.step >= Step::kLock && attaching.step <= Step::kRun;
  return (is_made && starter(lease) != actor) || (is_attached && hook_of(lease) != actor);
}

std::string_view wrong_with_taking(const World& world, uint8_t lease, Actor actor) {
  const Process& self = world.of(actor);
  if (self.is_poststop) {
    return self.called_for == lease ? "" : "a poststop changes a lease that it was not called for";
  }
  if (world.outside[lease].container == Container::kRunning) {
    return "a lease is taken from a container that runs";
  }
  const bool is_first = world.rows[lease].state != LeaseState::kReleasing;
  return is_first && takes_from_the_living(world, lease, actor)
             ? "a lease is taken from a process that lives"
             : "";
}

// A release that is over: what it was part of goes on.
void after_release(World& world, Actor actor) {
  const Process& self = world.of(actor);
  const bool was_before_its_own_start = actor <= kStarts && actor != starter(self.lease);
  if (!was_before_its_own_start) return end_process(world, actor);
  // It lives on, and so does its hold on what it could not release.
  world.of(actor) = {Step::kReconcile};
}

void step_take(const World& world, const Rules& rules, Actor actor, const Emit& emit) {
  World after = world;
  const uint8_t lease = world.of(actor).lease;
  if (!commit(after, rules, Change::kRelease, lease, actor)) {
    after_release(after, actor);
    return emit(after, {actor, lease, "loses: somebody else changed the lease"});
  }
  const std::string_view wrong = wrong_with_taking(world, lease, actor);
  Process& self = after.of(actor);
  self.step = rules.interface_first ? Step::kRemoveInterface : Step::kRemovePartition;
  self.is_poststop = false;
  self.called_for = 0;
  emit(after, {actor, lease, "takes the lease over: RELEASING", wrong});
}

// Where a release goes on after STEP.
Step after_step(const Rules& rules, Step step, bool is_obstacle) {
  if (step == Step::kRemoveInterface) {
    return rules.interface_first && !is_obstacle ? Step::kRemovePartition : Step::kRemoveFiles;
  }
  if (step == Step::kRemovePartition) {
    return rules.interface_first ? Step::kRemoveFiles : Step::kRemoveInterface;
  }
  return Step::kEnd;
}

void go_on(World after, const Rules& rules, const Outcome& outcome, bool is_obstacle,
           const Emit& emit) {
  Process& self = after.of(outcome.actor);
  self.has_obstacle = self.has_obstacle || is_obstacle;
  self.step = after_step(rules, self.step, is_obstacle);
  emit(after, outcome);
}

void step_remove_interface(const World& world, const Rules& rules, Actor actor, const Emit& emit) {
  const uint8_t lease = world.of(actor).lease;
  World after = world;
  if (!world.rows[lease].is_attached) {
    return go_on(after, rules, {actor, lease, "knows of no interface"}, false, emit);
  }
  go_on(world, rules, {actor, lease, "cannot remove the interface"}, true, emit);
  if (world.of(hook_of(lease)).step == Step::kMakeInterface) return;  // which has the lock
  after.outside[lease].interface = false;
  go_on(after, rules, {actor, lease, "removes the interface"}, false, emit);
}

void step_remove_partition(const World& world, const Rules& rules, Actor actor, const Emit& emit) {
  const uint8_t lease = world.of(actor).lease;
  if (world.of(actor).never_made) {
    return go_on(world, rules, {actor, lease, "knows of no partition"}, false, emit);
  }
  go_on(world, rules, {actor, lease, "does not reach the controller"}, true, emit);
  World after = world;
  after.outside[lease].partition = 0;
  go_on(after, rules, {actor, lease, "removes the partition"}, false, emit);
  go_on(after, rules, {actor, lease, "removes the partition; the answer is lost"}, true, emit);
}

void step_remove_files(const World& world, const Rules& rules, Actor actor, const Emit& emit) {
  const uint8_t lease = world.of(actor).lease;
  World after = world;
  after.outside[lease].files = false;
  go_on(after, rules, {actor, lease, "removes the files"}, false, emit);
  go_on(world, rules, {actor, lease, "cannot remove the files"}, true, emit);
}

void step_end(const World& world, const Rules& rules, Actor actor, const Emit& emit) {
  const Process& self = world.of(actor);
  const uint8_t lease = self.lease;
  const bool holds = self.has_obstacle && rules.keeps_what_is_left;
  const bool has_address = world.rows[lease].address != 0;
  const Change change = holds ? Change::kHold : has_address ? Change::kQuarantine : Change::kFree;
  World after = world;
  const bool done = commit(after, rules, change, lease, actor);
  after_release(after, actor);
  emit(after, {actor, lease,
               !done   ? "loses: somebody else changed the lease"
               : holds ? "notes what it could not undo"
                       : "frees the lease"});
}

// Whether a process has read a lease, and not done with it yet.
bool has_copy(Step step) {
  return step > Step::kIntend && step != Step::kRuntime && step != Step::kOver &&
         step != Step::kRead;
}

Actor holder_after(const hook::ledger::Transition& transition, const Row& row, uint8_t lease,
                   Actor actor, const World& world) {
  switch (transition.holder) {
    case hook::ledger::Holder::kSame:
      return row.owner;
    case hook::ledger::Holder::kCaller:
      return actor;
    case hook::ledger::Holder::kContainer:
      return world.outside[lease].container == Container::kDead ? kNobody : container_of(lease);
    case hook::ledger::Holder::kNobody:
      break;
  }
  return kNobody;
}

}  // namespace

void end_process(World& world, Actor actor) {
  for (Row& row : world.rows) {
    if (row.owner == actor) row.owner = kNobody;
  }
  world.of(actor) = {actor <= kStarts ? Step::kOver : Step::kNone};
}

void end_container(World& world, uint8_t start) {
  world.outside[start].container = Container::kDead;
  for (Row& row : world.rows) {
    if (row.owner == container_of(start)) row.owner = kNobody;
  }
}

bool commit(World& world, const Rules& rules, Change change, uint8_t lease, Actor actor) {
  const Process& self = world.of(actor);
  Row& row = world.rows[lease];
  const auto transition = std::find_if(
      rules.table.begin(), rules.table.end(), [&](const hook::ledger::Transition& other) {
        return other.change == change && (!other.from || *other.from == self.seen);
      });
  if (transition == rules.table.end() || (rules.compares_generations && self.is_stale))
    return false;
  row.owner = holder_after(*transition, row, lease, actor, world);
  row.exists = true;
  row.state = transition->to;
  if (!world.is_live(lease)) row = {true, row.state};
  for (Process& other : world.processes) {
    if (other.lease == lease && has_copy(other.step)) other.is_stale = true;
  }
  world.of(actor).seen = transition->to;
  world.of(actor).is_stale = false;
  return true;
}

bool read_orphan(World& world, const Rules& rules, uint8_t lease, Actor actor) {
  const Row& row = world.rows[lease];
  if (!world.is_live(lease)) return false;
  const bool is_own_rest = row.state == LeaseState::kReleasing && row.owner == actor;
  if (rules.looks_at_owner && row.owner != kNobody && !is_own_rest) return false;
  world.of(actor) = {Step::kTake, lease, row.state};
  return true;
}

void step_release(const World& world, const Rules& rules, Actor actor, const Emit& emit) {
  switch (world.of(actor).step) {
    case Step::kTake:
      return step_take(world, rules, actor, emit);
    case Step::kRemoveInterface:
      return step_remove_interface(world, rules, actor, emit);
    case Step::kRemovePartition:
      return step_remove_partition(world, rules, actor, emit);
    case Step::kRemoveFiles:
      return step_remove_files(world, rules, actor, emit);
    case Step::kEnd:
      return step_end(world, rules, actor, emit);
    default:
      return;
  }
}

}  // namespace model
