// SPDX-License-Identifier: Apache-2.0
// What the model's processes do, and how much of the world there is. The rules as they are by
// default are the product's; each change of one is a mistake that the product could have made.
#pragma once

#include <vector>

#include "hook/ledger/transitions.h"
#include "tests/unit/hook/model/world.h"

namespace model {

struct Rules {
  // The table of hook/ledger/transitions.cc.
  std::vector<hook::ledger::Transition> table{hook::ledger::transitions().begin(),
                                              hook::ledger::transitions().end()};
  // begin_change() in hook/ledger/ledger.cc: a writer that read an older generation loses.
  bool compares_generations = true;
  // prepare_container(): the intent is committed before the controller is asked.
  bool intends_first = true;
  // fate_after() in hook/lifecycle/start/create.cc: what no answer came to may have been made.
  bool doubts_lost_answers = true;
  // make_interfaces(): under the namespace's lock the hook looks whether the lease is still its
  // own.
  bool looks_again_under_lock = true;
  // effects() in hook/lifecycle/end/effects.cc: the interface goes before the partition, which
  // waits for it.
  bool interface_first = true;
  // give_back(): what cannot be undone keeps the lease RELEASING.
  bool keeps_what_is_left = true;
  // judge(): a reconciler leaves a lease alone whose owner lives.
  bool looks_at_owner = true;
  // The hook's argument is the lease; by the container's name it would be its newest one.
  bool poststop_names_lease = true;
};

struct Bounds {
  uint8_t starts = kStarts;        // at most kStarts
  uint8_t releasers = kReleasers;  // at most kReleasers
  uint8_t blocks = 1;              // of IPUs; each lease wants one
  uint8_t addresses = 1;
  bool late_requests = false;  // a request whose sender is gone may be carried out later
};

}  // namespace model
