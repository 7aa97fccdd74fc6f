// SPDX-License-Identifier: Apache-2.0
// A start and its release, and an operator's commands on a partition with a name of people's.
#include "tests/unit/hook/model/hosts_model.h"

namespace model::hosts {
namespace {

// A step that ends in SELF.worker.
struct Worker {
  const World& world;
  const Rules& rules;
  uint8_t host;
  const Emit& emit;

  [[nodiscard]] const Host& self() const { return world.hosts[host]; }

  // The process goes on with STEP in AFTER.
  void go_on(World after, Step step, const char* what, std::string_view wrong = {}) const {
    after.hosts[host].worker = step;
    emit(after, {host, what, wrong});
  }
  // A transaction of the ledger: CHANGE, and on to STEP. On another host it is refused.
  template <typename Change>
  void commit(Step step, const char* what, const Change& change) const {
    World after = world;
    if (!begin_change(after, rules, host))
      return go_on(after, Step::kNone, "is refused: the ledger is of another host");
    change(after.hosts[host]);
    go_on(after, step, what);
  }
};

// A request for a partition: what the controller does, and what the client hears.
void request(const Worker& worker, const Name& name, Row Host::*row, Step done) {
  World made = worker.world;
  if (make_partition(made, worker.host, name)) {
    worker.go_on(made, done, "asks for a partition, which is made");
    worker.go_on(made, Step::kNone, "asks for a partition, which is made; the answer is lost");
  } else {
    World refused = worker.world;
    Row& left = refused.hosts[worker.host].*row;
    if (!left.was_late) left = {};
    worker.go_on(refused, Step::kNone, "asks for a partition, and is refused");
  }
  if (!worker.self().late) {
    World lost = worker.world;
    lost.hosts[worker.host].late = true;
    lost.hosts[worker.host].late_name = name;
    worker.go_on(lost, Step::kNone, "asks for a partition; the request is late");
  }
  // The client lists what there is after a lost answer.
  World listed = worker.world;
  const bool is_taken = is_unique(name) || !worker.rules.doubts_found_names;
  if (is_taken && listed.find(name) != nullptr)
    worker.go_on(listed, done, "gets no answer, and finds a partition of that name");
}

void step_named(const Worker& worker) {
  World after = worker.world;
  Host& self = after.hosts[worker.host];
  const bool is_listed = after.find(kTrain) != nullptr;
  switch (self.worker) {
    case Step::kLookForName:
      if (is_listed) return worker.go_on(after, Step::kNone, "finds that there is a train");
      return worker.go_on(after, Step::kIntendName, "finds no train");
    case Step::kIntendName:
      return worker.commit(Step::kCreateName, "commits the INTENT of train", [](Host& host) {
        const bool may_come = host.named.state == RowState::kIntent;  // for an earlier request
        host.named = {kTrain, RowState::kIntent, may_come};
      });
    case Step::kCreateName:
      return request(worker, kTrain, &Host::named, Step::kReadyName);
    case Step::kReadyName:
      return worker.commit(Step::kNone, "commits that train is READY",
                           [](Host& host) { host.named.state = RowState::kReady; });
    case Step::kBeginRemoval:
      return worker.commit(Step::kRemoveName, "commits the removal of train",
                           [](Host& host) { host.named.state = RowState::kRemoving; });
    case Step::kRemoveName: {
      worker.go_on(after, Step::kRepeatRemoval, "asks to remove train; the request is lost");
      const std::string_view wrong = remove_partition(after, worker.host, kTrain);
      worker.go_on(after, Step::kForgetName, "removes train", wrong);
      return worker.go_on(after, Step::kRepeatRemoval, "removes train; the answer is lost", wrong);
    }
    case Step::kRepeatRemoval: {
      if (!is_listed) return worker.go_on(after, Step::kForgetName, "finds train gone");
      if (worker.rules.removes_names_once)
        return worker.go_on(after, Step::kNone, "gives up: there is a train");
      const std::string_view wrong = remove_partition(after, worker.host, kTrain);
      return worker.go_on(after, Step::kForgetName, "repeats the removal of train", wrong);
    }
    default:
      return worker.commit(Step::kNone, "forgets train", [](Host& host) { host.named = {}; });
  }
}

void step_start(const Worker& worker) {
  World after = worker.world;
  Host& self = after.hosts[worker.host];
  const Name name = self.lease.name;
  switch (self.worker) {
    case Step::kIntend:
      return worker.commit(Step::kCreate, "commits an INTENT", [&](Host& host) {
        host.lease = {name_of(host.digits, worker.host, host.starts++), RowState::kIntent};
      });
    case Step::kCreate:
      return request(worker, name, &Host::lease, Step::kRun);
    case Step::kRun:
      if (after.find(name) == nullptr)
        return worker.go_on(after, Step::kNone, "finds that its partition is gone");
      return worker.commit(Step::kNone, "runs the container", [&](Host& host) {
        host.lease.state = RowState::kReady;
        host.container = name;
      });
    case Step::kBeginRelease:
      return worker.commit(name == kTrain ? Step::kEnd : Step::kRemove, "commits RELEASING",
                           [](Host& host) { host.lease.state = RowState::kRemoving; });
    case Step::kRemove: {
      worker.go_on(after, Step::kNone, "does not reach the controller");
      const std::string_view wrong = remove_partition(after, worker.host, name);
      return worker.go_on(after, Step::kEnd, "removes its partition", wrong);
    }
    default:
      return worker.commit(Step::kNone, "commits the end of the lease", [&](Host& host) {
        if (name != kTrain) host.ended = static_cast<uint8_t>(host.ended | 1U << name.start);
        host.lease = {};
      });
  }
}

// Returns whether a dead process left the record of train.
bool is_unsure(const Host& self) {
  return self.named.state == RowState::kIntent || self.named.state == RowState::kRemoving;
}

void begin(const Worker& worker, const Bounds& bounds) {
  World after = worker.world;
  Host& self = after.hosts[worker.host];
  const bool uses_train = self.lease.name == kTrain;
  const bool has_lease = self.lease.state != RowState::kNothing;
  if (self.creations < bounds.creations && self.named.state != RowState::kReady) {
    World asked = after;
    ++asked.hosts[worker.host].creations;
    worker.go_on(asked, Step::kLookForName, "is told to create train");
  }
  // What comes by a late request after a removal, people find by 'ipuctl partition list'.
  if (self.named.state == RowState::kReady && !uses_train && !self.late)
    worker.go_on(after, Step::kBeginRemoval, "is told to remove train");
  const Partition* const train = after.find(kTrain);
  if (is_unsure(self) && train != nullptr && train->maker == worker.host && !self.late)
    worker.go_on(after, Step::kBeginRemoval, "is told that the train is its own, to be removed");
  if (is_unsure(self) && train != nullptr && train->maker != worker.host && !self.late)
    worker.go_on(after, Step::kForgetName, "is told that the train is another host's");
  if (has_lease && self.container == kNoName)
    return worker.go_on(after, Step::kBeginRelease, "finds a lease without a container");
  if (has_lease || self.starts >= bounds.starts) return;
  worker.go_on(after, Step::kIntend, "is told to start a container");
  if (self.named.state != RowState::kReady) return;
  worker.commit(Step::kRun, "commits that a container uses train", [](Host& host) {
    ++host.starts;
    host.lease = {kTrain, RowState::kIntent};
  });
}

}  // namespace

void step_worker(const World& world, const Rules& rules, const Bounds& bounds, uint8_t host,
                 const Emit& emit) {
  const Worker worker{world, rules, host, emit};
  if (!world.hosts[host].is_on) return;
  const Step step = world.hosts[host].worker;
  if (step == Step::kNone) return begin(worker, bounds);
  if (step <= Step::kForgetName) return step_named(worker);
  step_start(worker);
}

}  // namespace model::hosts
