// SPDX-License-Identifier: Apache-2.0
// The life of a lease as one table: which change is possible in which state, the next state, and
// the process whose life then holds the lease. Pure. The ledger makes only the changes in this
// table, and the tests' model explores the same table.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "hook/ledger/lease.h"

namespace hook::ledger {

enum class Change {
  kIntend,      // the row is written before anything else is done
  kTakeWarm,    // a warm partition replaces the one that is to be made
  kAllocate,    // the controller has granted IPUs; addresses are reserved
  kAttach,      // the hook is about to change the container's network namespace
  kRun,         // the network is ready; the container's program starts next
  kAdopt,       // the container, restored from a checkpoint, has another first process
  kRelocate,    // the controller has moved its IPUs
  kProhibit,    // it is kept from addresses that its start did not know
  kRelease,     // what the lease holds is being released
  kHold,        // something cannot be released yet; the obstacle is noted
  kQuarantine,  // everything is released; the addresses stay reserved for a while
  kFree,        // everything is released, or the quarantine is over
  kFail,        // everything is released, and no container ever had the lease
};

// The process whose life holds a lease after a change.
enum class Holder {
  kSame,       // the same as before
  kCaller,     // the process that makes the change
  kContainer,  // the container's first process
  kNobody,     // none: nothing is held, or any process may continue the release
};

struct Transition {
  Change change;
  std::optional<LeaseState> from;  // unset: there was no lease
  LeaseState to;
  Holder holder;
  std::string_view because;  // for people
};

// Returns all transitions.
[[nodiscard]] std::span<const Transition> transitions();
// Returns the transition for CHANGE from state FROM; null if it is not possible.
[[nodiscard]] const Transition* find_transition(Change change, std::optional<LeaseState> from);

[[nodiscard]] std::string_view name_of(Change change);  // "intend", ...

}  // namespace hook::ledger
