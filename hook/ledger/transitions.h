// SPDX-License-Identifier: Apache-2.0
// The life of a lease, as one table: which change is possible in which state, where it leads, and
// whose life holds the lease from then on. Pure; the ledger makes no change that is not in it, and
// the model of the tests explores this very table.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "hook/ledger/lease.h"

namespace hook::ledger {

enum class Change {
  kIntend,      // the row is written, before anything is done
  kTakeWarm,    // a warm partition instead of one that is to be made
  kAllocate,    // the controller has granted, addresses are reserved
  kAttach,      // the hook is about to change the container's network namespace
  kRun,         // the network is there; the container's program is started next
  kAdopt,       // the container has another first process: it was restored from a checkpoint
  kRelocate,    // the controller has moved its IPUs
  kRelease,     // what it holds is being given back
  kHold,        // something of it cannot be given back yet: the obstacle is noted
  kQuarantine,  // all is given back; its addresses are kept from others for a while
  kFree,        // all is given back, or the quarantine is over
  kFail,        // all is given back, and no container ever had it
};

// Whose life holds a lease after a change.
enum class Holder {
  kSame,       // as before
  kCaller,     // the process that makes the change
  kContainer,  // the container's first process
  kNobody,     // it holds nothing, or waits for whoever releases next
};

struct Transition {
  Change change;
  std::optional<LeaseState> from;  // none: there was no lease
  LeaseState to;
  Holder holder;
  std::string_view because;  // for people
};

// All of them.
[[nodiscard]] std::span<const Transition> transitions();
// The one for CHANGE in state FROM; null: it is not possible.
[[nodiscard]] const Transition* find_transition(Change change, std::optional<LeaseState> from);

[[nodiscard]] std::string_view name_of(Change change);  // "intend", ...

}  // namespace hook::ledger
