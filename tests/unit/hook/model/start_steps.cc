// SPDX-License-Identifier: Apache-2.0
// The start of a container: its starter, as prepare_container() and then runc, and its hook, as
// attach_container().
#include "tests/unit/hook/model/steps.h"

namespace model {
namespace {

using hook::ledger::Change;
using hook::ledger::LeaseState;

// The starter gives back what it has and ends with an error.
void abandon(World after, const Outcome& outcome, bool never_made, const Emit& emit) {
  Process& self = after.of(outcome.actor);
  self.step = Step::kTake;
  self.never_made = never_made;
  emit(after, outcome);
}

void step_reconcile(const World& world, const Rules& rules, uint8_t start, const Emit& emit) {
  const Actor actor = starter(start);
  for (uint8_t lease = 0; lease < kStarts; ++lease) {
    World after = world;
    if (read_orphan(after, rules, lease, actor)) emit(after, {actor, lease, "finds an orphan"});
  }
  World after = world;
  after.of(actor) = {rules.intends_first ? Step::kIntend : Step::kCreate, start};
  emit(after, {actor, start, "has no orphans to release, or not any more"});
}

void step_intend(const World& world, const Rules& rules, uint8_t start, const Emit& emit) {
  const Actor actor = starter(start);
  World after = world;
  (void)commit(after, rules, Change::kIntend, start, actor);
  after.of(actor).step = rules.intends_first ? Step::kCreate : Step::kAllocate;
  emit(after, {actor, start, "commits the INTENT"});
}

// A block of IPUs that no partition has; 0: none.
uint8_t free_block(const World& world, const Bounds& bounds) {
  for (uint8_t block = 1; block <= bounds.blocks; ++block) {
    bool is_taken = false;
    for (const Outside& other : world.outside) is_taken |= other.partition == block;
    if (!is_taken) return block;
  }
  return 0;
}

void step_create(const World& world, const Rules& rules, const Bounds& bounds, uint8_t start,
                 const Emit& emit) {
  const Actor actor = starter(start);
  abandon(world, {actor, start, "does not reach the controller"}, true, emit);
  abandon(world, {actor, start, "asks for a partition; the request is lost"},
          !rules.doubts_lost_answers, emit);
  World after = world;
  if (bounds.late_requests) {
    after.outside[start].is_late = true;
    abandon(after, {actor, start, "asks for a partition; the request is late"}, false, emit);
    after = world;
  }
  after.outside[start].partition = free_block(world, bounds);
  if (after.outside[start].partition == 0) {
    return abandon(world, {actor, start, "asks for a partition; there is no room"}, false, emit);
  }
  abandon(after, {actor, start, "asks for a partition, which is made; the answer is lost"},
          !rules.doubts_lost_answers, emit);
  after.of(actor).step = rules.intends_first ? Step::kAllocate : Step::kIntend;
  emit(after, {actor, start, "asks for a partition, which is made"});
}

// An address that no lease holds; 0: none.
uint8_t free_address(const World& world, const Bounds& bounds) {
  for (uint8_t address = 1; address <= bounds.addresses; ++address) {
    bool is_taken = false;
    for (const Row& other : world.rows) is_taken |= other.address == address;
    if (!is_taken) return address;
  }
  return 0;
}

bool holds_ipus(const World& world, uint8_t block) {
  bool is_taken = false;
  for (const Row& other : world.rows) is_taken |= other.ipus == block;
  return is_taken;
}

void step_allocate(const World& world, const Rules& rules, const Bounds& bounds, uint8_t start,
                   const Emit& emit) {
  const Actor actor = starter(start);
  abandon(world, {actor, start, "cannot write ALLOCATED"}, false, emit);
  const uint8_t block = world.outside[start].partition;
  const uint8_t address = free_address(world, bounds);
  World after = world;
  if (address == 0 || holds_ipus(world, block) ||
      !commit(after, rules, Change::kAllocate, start, actor)) {
    return;
  }
  after.rows[start].ipus = block;
  after.rows[start].address = address;
  after.of(actor).step = Step::kWriteFiles;
  emit(after, {actor, start, "commits ALLOCATED, with IPUs and an address"});
}

void step_files(const World& world, uint8_t start, const Emit& emit) {
  const Actor actor = starter(start);
  World after = world;
  if (world.of(actor).step == Step::kWriteFiles) {
    after.outside[start].files = true;
    abandon(after, {actor, start, "cannot write all files"}, false, emit);
    after.of(actor).step = Step::kEditBundle;
    return emit(after, {actor, start, "writes the files"});
  }
  abandon(world, {actor, start, "cannot edit the bundle"}, false, emit);
  after.outside[start].bundle = true;
  after.of(actor).step = Step::kExec;
  emit(after, {actor, start, "edits the bundle"});
}

void step_exec(const World& world, uint8_t start, const Emit& emit) {
  World after = world;
  after.outside[start].netns = true;
  after.outside[start].container = Container::kCreated;
  after.of(starter(start)) = {Step::kRuntime};
  after.of(hook_of(start)) = {Step::kRead, start};
  emit(after, {starter(start), start, "becomes runc, creates the container and calls the hook"});
}

// It ends when the container is created; as `runc run`, which waits for its end, with that.
void step_runtime(const World& world, uint8_t start, const Emit& emit) {
  if (world.of(hook_of(start)).step != Step::kNone) return;
  World after = world;
  end_process(after, starter(start));
  if (world.outside[start].container == Container::kCreated) end_container(after, start);
  emit(after, {starter(start), start, "ends, and if the hook failed so does the container"});
}

// The hook gives the lease back, if that still is as it was read.
void give_up(World after, const Outcome& outcome, const Emit& emit) {
  after.of(outcome.actor).step = Step::kTake;
  emit(after, outcome);
}

void hook_reads(const World& world, uint8_t start, const Emit& emit) {
  const Actor actor = hook_of(start);
  World after = world;
  const Row& row = world.rows[start];
  if (row.state != LeaseState::kAllocated) {
    end_process(after, actor);
    return emit(after, {actor, start, "finds no lease that it could attach"});
  }
  const bool is_there = world.outside[start].container == Container::kCreated;
  after.of(actor) = {is_there ? Step::kAttach : Step::kTake, start, row.state};
  emit(after, {actor, start, is_there ? "reads the lease" : "finds no container"});
}

void hook_attaches(const World& world, const Rules& rules, uint8_t start, const Emit& emit) {
  const Actor actor = hook_of(start);
  World after = world;
  if (!commit(after, rules, Change::kAttach, start, actor)) {
    return give_up(world, {actor, start, "loses: somebody else changed the lease"}, emit);
  }
  after.rows[start].is_attached = true;
  after.of(actor).step = Step::kLock;
  emit(after, {actor, start, "commits that it attaches"});
}

void hook_locks(const World& world, const Rules& rules, uint8_t start, const Emit& emit) {
  const Actor actor = hook_of(start);
  if (rules.looks_again_under_lock && world.of(actor).is_stale) {
    return give_up(world, {actor, start, "sees that the lease is not its own any more"}, emit);
  }
  World after = world;
  after.of(actor).step = Step::kMakeInterface;
  emit(after, {actor, start, "locks the namespace"});
}

void hook_makes_interface(const World& world, uint8_t start, const Emit& emit) {
  const Actor actor = hook_of(start);
  World after = world;
  after.outside[start].interface = true;
  give_up(after, {actor, start, "makes the interface, and fails to set it up"}, emit);
  after.of(actor).step = Step::kLookAtContainer;
  emit(after, {actor, start, "makes the interface"});
}

void hook_runs(const World& world, const Rules& rules, uint8_t start, const Emit& emit) {
  const Actor actor = hook_of(start);
  World after = world;
  if (!commit(after, rules, Change::kRun, start, actor)) {
    return give_up(world, {actor, start, "loses: somebody else changed the lease"}, emit);
  }
  Container& container = after.outside[start].container;
  if (container == Container::kCreated) container = Container::kRunning;
  end_process(after, actor);
  emit(after, {actor, start, "commits RUNNING and ends"});
}

}  // namespace

void step_starter(const World& world, const Rules& rules, const Bounds& bounds, uint8_t start,
                  const Emit& emit) {
  switch (world.of(starter(start)).step) {
    case Step::kReconcile:
      return step_reconcile(world, rules, start, emit);
    case Step::kIntend:
      return step_intend(world, rules, start, emit);
    case Step::kCreate:
      return step_create(world, rules, bounds, start, emit);
    case Step::kAllocate:
      return step_allocate(world, rules, bounds, start, emit);
    case Step::kWriteFiles:
    case Step::kEditBundle:
      return step_files(world, start, emit);
    case Step::kExec:
      return step_exec(world, start, emit);
    case Step::kRuntime:
      return step_runtime(world, start, emit);
    default:
      return step_release(world, rules, starter(start), emit);
  }
}

void step_hook(const World& world, const Rules& rules, uint8_t start, const Emit& emit) {
  const Actor actor = hook_of(start);
  const bool is_there = world.outside[start].container != Container::kDead;
  switch (world.of(actor).step) {
    case Step::kRead:
      return hook_reads(world, start, emit);
    case Step::kAttach:
      return hook_attaches(world, rules, start, emit);
    case Step::kLock:
      return hook_locks(world, rules, start, emit);
    case Step::kMakeInterface:
      return hook_makes_interface(world, start, emit);
    case Step::kLookAtContainer: {
      if (!is_there) return give_up(world, {actor, start, "finds no container"}, emit);
      World after = world;
      after.of(actor).step = Step::kRun;
      return emit(after, {actor, start, "sees that the container is there"});
    }
    case Step::kRun:
      return hook_runs(world, rules, start, emit);
    default:
      return step_release(world, rules, actor, emit);
  }
}

}  // namespace model
