// SPDX-License-Identifier: Apache-2.0
// The steps of the processes: one function a process, which says what may come of its next step.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tests/unit/hook/model/rules.h"
#include "tests/unit/hook/model/world.h"

namespace model {

struct Outcome {
  Actor actor = kNobody;  // kNobody: the engine, the kernel or the machine
  uint8_t lease = 0;
  const char* what = "";
  std::string_view wrong = {};  // with the step itself
};

// Takes what the world may become, and by what.
using Emit = std::function<void(const World&, const Outcome&)>;

// The process is gone; so is its hold on leases.
void end_process(World& world, Actor actor);
// The container's first process is gone.
void end_container(World& world, uint8_t start);

// CHANGE of LEASE by ACTOR, as one transaction of the ledger. False, and nothing is changed, if the
// table has no such change from the state that ACTOR has read, or if the lease was changed since.
bool commit(World& world, const Rules& rules, hook::ledger::Change change, uint8_t lease,
            Actor actor);

void step_starter(const World& world, const Rules& rules, const Bounds& bounds, uint8_t start,
                  const Emit& emit);
void step_hook(const World& world, const Rules& rules, uint8_t start, const Emit& emit);
// Any process that gives a lease back, at one of the steps from kTake on.
void step_release(const World& world, const Rules& rules, Actor actor, const Emit& emit);
// What nobody of us decides: containers begin and end, hooks are called, namespaces go, processes
// are killed, the machine is started anew.
void step_environment(const World& world, const Rules& rules, const Bounds& bounds,
                      const Emit& emit);

// ACTOR looks at LEASE, as reconcile() does, to release it; nothing if it is to be left alone.
bool read_orphan(World& world, const Rules& rules, uint8_t lease, Actor actor);

}  // namespace model
