// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/model/lease_model.h"

#include "base/text.h"

namespace model {
namespace {

using hook::ledger::LeaseState;

// Everything outside the ledger has a live lease that leads to it.
std::string_view wrong_outside(const World& world, uint8_t lease) {
  const Outside& there = world.outside[lease];
  if (there.container == Container::kRunning) {
    const bool has_all = there.partition != 0 && there.interface && there.files;
    if (!has_all) return "a container that runs has lost something";
    if (world.rows[lease].state != LeaseState::kRunning) {
      return "a container runs whose lease does not";
    }
  }
  if (world.is_live(lease)) return "";
  if (there.partition != 0) return "there is a partition that no live lease leads to";
  if (there.interface) return "there is an interface that no live lease leads to";
  return there.files ? "there are files that no live lease leads to" : "";
}

// ONE's interface, as long as it is there, reaches the IPUs that ONE was granted.
std::string_view wrong_between(const World& world, uint8_t one, uint8_t other) {
  const Row& held = world.rows[one];
  const Row& also = world.rows[other];
  if (held.ipus != 0 && held.ipus == also.ipus) return "two leases hold the same IPUs";
  if (held.address != 0 && held.address == also.address) return "two leases hold one address";
  const bool reaches = world.outside[one].interface && held.ipus != 0;
  return reaches && world.outside[other].partition == held.ipus
             ? "an interface reaches the IPUs of another lease"
             : "";
}

// Only containers that run, and the runtimes that wait for their end, live on.
void end_all_that_can_end(World& world) {
  for (Actor actor = 1; actor <= kProcesses; ++actor) {
    const bool waits = actor <= kStarts && world.of(actor).step == Step::kRuntime &&
                       world.outside[actor - 1U].container == Container::kRunning;
    if (!waits && world.of(actor).step != Step::kNone) end_process(world, actor);
  }
  for (uint8_t start = 0; start < kStarts; ++start) {
    if (world.outside[start].container == Container::kCreated) end_container(world, start);
  }
}

// One release by ACTOR, without a fault: of each step the outcome in which it does what it should.
void release_undisturbed(World& world, const Rules& rules, Actor actor) {
  while (world.of(actor).step >= Step::kTake) {
    World best;
    bool is_found = false;
    step_release(world, rules, actor, [&](const World& after, const Outcome&) {
      if (is_found && after.of(actor).has_obstacle) return;
      best = after;
      is_found = true;
    });
    world = best;
  }
}

bool is_left(const World& world, uint8_t lease) {
  const Outside& there = world.outside[lease];
  return there.partition != 0 || there.interface || there.files || world.is_live(lease);
}

}  // namespace

std::string_view LeaseModel::wrong_after_reconcile(World world) const {
  end_all_that_can_end(world);
  for (uint8_t lease = 0; lease < kStarts; ++lease) {
    if (read_orphan(world, rules_, lease, releaser(0))) {
      release_undisturbed(world, rules_, releaser(0));
    }
  }
  for (uint8_t lease = 0; lease < kStarts; ++lease) {
    const bool runs = world.outside[lease].container == Container::kRunning;
    if (!runs && is_left(world, lease)) return "a reconcile leaves something behind";
    if (!wrong_outside(world, lease).empty()) return "a reconcile harms a container that runs";
  }
  return "";
}

std::string_view LeaseModel::wrong(const World& world) const {
  for (uint8_t lease = 0; lease < kStarts; ++lease) {
    const std::string_view wrong = wrong_outside(world, lease);
    if (!wrong.empty()) return wrong;
    for (uint8_t other = 0; other < kStarts; ++other) {
      if (other == lease) continue;
      const std::string_view shared = wrong_between(world, lease, other);
      if (!shared.empty()) return shared;
    }
  }
  return wrong_after_reconcile(world);
}

std::string LeaseModel::describe(const Outcome& step) const {
  std::string who;
  if (step.actor != kNobody) {
    const bool starts = step.actor <= kStarts;
    const bool hooks = !starts && step.actor <= 2 * kStarts;
    const uint32_t number = starts  ? step.actor
                            : hooks ? step.actor - uint32_t{kStarts}
                                    : step.actor - uint32_t{2 * kStarts};
    who = base::str(starts ? "starter " : hooks ? "hook " : "releaser ", number, ' ');
  }
  return base::str("[lease ", step.lease + 1, "] ", who, step.what);
}

}  // namespace model
