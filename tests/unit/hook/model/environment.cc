// SPDX-License-Identifier: Apache-2.0
// What none of our processes decides.
#include "tests/unit/hook/model/steps.h"

namespace model {
namespace {

void begin_start(const World& world, uint8_t start, const Emit& emit) {
  // The starts differ in nothing: the second is the one that begins later.
  const bool is_next = start == 0 || world.of(starter(start - 1)).step != Step::kNone;
  if (!is_next || world.of(starter(start)).step != Step::kNone) return;
  World after = world;
  after.of(starter(start)).step = Step::kReconcile;
  emit(after, {kNobody, start, "a container is started"});
}

void end_what_runs(const World& world, uint8_t start, const Emit& emit) {
  const Outside& there = world.outside[start];
  World after = world;
  if (there.container == Container::kCreated || there.container == Container::kRunning) {
    end_container(after, start);
    emit(after, {kNobody, start, "the container ends"});
  }
  // An engine may keep it for long, and so does a hook that has opened it.
  const Step hook = world.of(hook_of(start)).step;
  const bool hook_has_it = hook >= Step::kAttach && hook <= Step::kMakeInterface;
  if (there.container == Container::kDead && there.netns && !hook_has_it) {
    after.outside[start].netns = after.outside[start].interface = false;
    emit(after, {kNobody, start, "the container's namespace goes"});
  }
}

void kill_process(const World& world, Actor actor, const Emit& emit) {
  const Process& process = world.of(actor);
  if (process.step == Step::kNone || process.step == Step::kOver) return;
  World after = world;
  end_process(after, actor);
  emit(after, {actor, process.lease, "is killed"});
}

uint8_t lease_of_poststop(const World& world, const Rules& rules, uint8_t called_for) {
  if (rules.poststop_names_lease) return called_for;
  for (uint8_t newest = kStarts; newest-- > called_for;) {
    if (world.rows[newest].exists) return newest;
  }
  return called_for;
}

// Also late, doubled, or for a lease that is long gone; but the runtime ends the container first.
void call_poststop(const World& world, const Rules& rules, uint8_t start, Actor actor,
                   const Emit& emit) {
  const Container container = world.outside[start].container;
  const Step runtime = world.of(starter(start)).step;
  const bool has_run = runtime == Step::kRuntime || runtime == Step::kOver;
  const bool is_called = has_run && world.outside[start].bundle &&
                         (container == Container::kNone || container == Container::kDead);
  const uint8_t lease = lease_of_poststop(world, rules, start);
  const Row& row = world.rows[lease];
  const bool is_released =
      row.state == hook::ledger::LeaseState::kReleasing && row.owner != kNobody;
  if (!is_called || !world.is_live(lease) || is_released) return;
  World after = world;
  Process& self = after.of(actor);
  self = {Step::kTake, lease, row.state};
  self.is_poststop = true;
  self.called_for = start;
  emit(after, {actor, lease, "is called as poststop, and reads the lease"});
}

void begin_release(const World& world, const Rules& rules, Actor actor, const Emit& emit) {
  if (world.of(actor).step != Step::kNone) return;
  for (uint8_t start = 0; start < kStarts; ++start) {
    call_poststop(world, rules, start, actor, emit);
    World after = world;
    if (read_orphan(after, rules, start, actor)) {
      emit(after, {actor, start, "is called as 'ipuctl gc', and finds an orphan"});
    }
  }
}

void carry_out_late_request(const World& world, const Bounds& bounds, uint8_t start,
                            const Emit& emit) {
  if (!world.outside[start].is_late) return;
  World after = world;
  after.outside[start].is_late = false;
  emit(after, {kNobody, start, "the late request is lost"});
  for (uint8_t block = 1; block <= bounds.blocks; ++block) {
    bool is_taken = false;
    for (const Outside& other : world.outside) is_taken |= other.partition == block;
    if (is_taken) continue;
    after.outside[start].partition = block;
    return emit(after, {kNobody, start, "the late request is carried out"});
  }
}

// Namespaces and /run are gone then; the ledger and the controller stay.
void reboot(const World& world, const Emit& emit) {
  World after = world;
  for (Actor actor = 1; actor <= kProcesses; ++actor) {
    if (world.of(actor).step != Step::kNone) end_process(after, actor);
  }
  for (uint8_t start = 0; start < kStarts; ++start) {
    Outside& there = after.outside[start];
    if (there.container != Container::kNone) end_container(after, start);
    there.netns = there.interface = there.files = false;
  }
  emit(after, {kNobody, 0, "the machine is started anew"});
}

}  // namespace

void step_environment(const World& world, const Rules& rules, const Bounds& bounds,
                      const Emit& emit) {
  for (uint8_t start = 0; start < bounds.starts; ++start) {
    begin_start(world, start, emit);
    end_what_runs(world, start, emit);
    carry_out_late_request(world, bounds, start, emit);
  }
  for (Actor actor = 1; actor <= kProcesses; ++actor) kill_process(world, actor, emit);
  for (uint8_t i = 0; i < bounds.releasers; ++i) begin_release(world, rules, releaser(i), emit);
  reboot(world, emit);
}

}  // namespace model
