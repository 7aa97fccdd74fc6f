// SPDX-License-Identifier: Apache-2.0
// ipuctl gc, and ipuctl host fence.
#include "tests/unit/hook/model/hosts_model.h"

namespace model::hosts {
namespace {

struct Keeper {
  const World& world;
  const Rules& rules;
  uint8_t host;
  const Emit& emit;

  [[nodiscard]] const Host& self() const { return world.hosts[host]; }
  [[nodiscard]] const Host& other() const { return world.hosts[1 - host]; }
  void go_on(World after, Step step, const char* what, std::string_view wrong = {}) const {
    after.hosts[host].keeper = step;
    if (step == Step::kNone) after.hosts[host].listed = {};
    emit(after, {host, what, wrong});
  }
};

// Keeps the names at the controller that the host with DIGITS gave.
void list(World& world, uint8_t host, uint8_t digits) {
  for (uint8_t i = 0; i < kBlocks; ++i) {
    const Name& name = world.partitions[i].name;
    world.hosts[host].listed[i] = is_of(name, digits) ? name : kNoName;
  }
}

bool knows(const Host& self, const Name& name) {
  const bool has_ended = name.maker == self.ledger_of && (self.ended >> name.start & 1U) != 0;
  return self.lease.name == name || has_ended;
}

// gc looks at what dead processes left.
void reconcile(const Keeper& keeper) {
  const Host& self = keeper.self();
  World after = keeper.world;
  if (!begin_change(after, keeper.rules, keeper.host)) return;
  for (uint8_t start = 0; start < kStarts; ++start) {
    World clean = after;
    const Name name = name_of(self.digits, self.ledger_of, start);
    if ((self.ended >> start & 1U) == 0 || clean.find(name) == nullptr) continue;
    const std::string_view wrong = remove_partition(clean, keeper.host, name);
    keeper.go_on(clean, Step::kNone, "gc removes the partition of an ended lease", wrong);
  }
  const bool is_cut = self.worker == Step::kNone && self.named.state != RowState::kNothing &&
                      self.named.state != RowState::kReady;
  if (!is_cut) return;
  const bool is_listed = after.find(kTrain) != nullptr;
  if (!is_listed && self.late) return;
  if (!keeper.rules.leaves_names_to_people) {
    const std::string_view wrong = remove_partition(after, keeper.host, kTrain);
    after.hosts[keeper.host].named = {};
    return keeper.go_on(after, Step::kNone, "gc removes train, whose creation was cut", wrong);
  }
  if (is_listed) return;
  after.hosts[keeper.host].named = {};
  keeper.go_on(after, Step::kNone, "gc forgets train, which is not there");
}

void remove_earlier(const Keeper& keeper) {
  World after = keeper.world;
  Host& self = after.hosts[keeper.host];
  std::array<Name, kBlocks> names = self.listed;
  if (!keeper.rules.asks_ledger_last) {
    const Name known = self.listed[0];
    list(after, keeper.host, self.digits);
    names = self.listed;
    for (Name& name : names)
      if (name == known) name = kNoName;
  }
  std::string_view wrong;
  for (const Name& name : names) {
    const bool is_known = keeper.rules.asks_ledger_last && knows(self, name);
    if (name == kNoName || is_known) continue;
    const std::string_view found = remove_partition(after, keeper.host, name);
    if (wrong.empty()) wrong = found;
  }
  keeper.go_on(after, Step::kNone, "gc removes what the host made before this boot", wrong);
}

void fence(const Keeper& keeper) {
  World after = keeper.world;
  Host& self = after.hosts[keeper.host];
  std::string_view wrong;
  for (const Name& name : self.listed) {
    if (name == kNoName || knows(self, name)) continue;
    const std::string_view found = remove_partition(after, keeper.host, name);
    if (wrong.empty()) wrong = found;
  }
  keeper.go_on(keeper.world, Step::kNone, "does not reach the controller to fence");
  const bool is_last = !keeper.rules.removes_before_fence;
  keeper.go_on(after, is_last ? Step::kNone : Step::kRecordFence, "removes what the dead host made",
               wrong);
}

void begin(const Keeper& keeper, const Bounds& bounds) {
  reconcile(keeper);
  World after = keeper.world;
  Host& self = after.hosts[keeper.host];
  const bool may_be_earlier = bounds.diskless || bounds.copy;
  if (may_be_earlier && begin_change(after, keeper.rules, keeper.host) && self.is_new_ledger) {
    if (keeper.rules.asks_ledger_last) {
      list(after, keeper.host, self.digits);
    } else {
      self.listed[0] = self.lease.name;
    }
    keeper.go_on(after, Step::kRemoveEarlier, "gc looks for what was made before this boot");
  }
  const Host& other = keeper.other();
  if (other.is_on || other.ledger_of == kNoHost || self.has_fenced) return;
  World fenced = keeper.world;
  if (!begin_change(fenced, keeper.rules, keeper.host)) return;
  list(fenced, keeper.host, other.digits);
  fenced.hosts[1 - keeper.host].has_changed = false;
  if (!keeper.rules.removes_before_fence) fenced.hosts[keeper.host].has_fenced = true;
  keeper.go_on(fenced, Step::kFence, "is told that the other host is dead");
}

}  // namespace

void step_keeper(const World& world, const Rules& rules, const Bounds& bounds, uint8_t host,
                 const Emit& emit) {
  const Keeper keeper{world, rules, host, emit};
  if (!world.hosts[host].is_on) return;
  switch (world.hosts[host].keeper) {
    case Step::kNone:
      return begin(keeper, bounds);
    case Step::kRemoveEarlier:
      return remove_earlier(keeper);
    case Step::kFence:
      return fence(keeper);
    default: {
      World after = world;
      if (!begin_change(after, rules, host)) return keeper.go_on(world, Step::kNone, "is refused");
      after.hosts[host].has_fenced = true;
      return keeper.go_on(after, Step::kNone, "records the fence");
    }
  }
}

}  // namespace model::hosts
