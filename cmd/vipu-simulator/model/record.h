// SPDX-License-Identifier: Apache-2.0
// A partition as its controller knows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "vipu/types.h"

namespace vipu::simulator {

// Milliseconds since 1970 that never go back; the caller owns the clock.
using Time = std::chrono::milliseconds;
inline constexpr Time kNever = Time::max();

// The result of a create or a reset: ACTIVE, if nothing is set.
struct Outcome {
  std::vector<std::string> errors = {};  // PS_ERROR with these texts
  bool lasting = false;                  // an auto-reset ends in the same errors
  bool stuck = false;                    // never leaves PS_PENDING
};

enum class Cause { kNone, kFault, kAgent };

struct Record {
  PartitionRequest wanted;      // complete, without open choices; ipus only if named
  std::vector<ChosenIpu> ipus;  // by routing id, the index here

  ReadyState ready = ReadyState::kPending;
  OperationState operation = OperationState::kCreating;
  std::vector<std::string> errors = {};  // while ready is kError
  Cause cause = Cause::kNone;            // cause of these errors
  Outcome outcome = {};                  // outcome of the operation in progress
  Time due = kNever;                     // when the operation ends, or an auto-reset starts
  uint32_t auto_resets = 0;              // since its creation or a client's reset
  Time last_auto_reset{0};               // 0: never
  Time seen_from{0};                     // when clients see it
  Time active_from{0};                   // when it became ACTIVE
  bool is_reset_ahead = false;           // a reset begins when due
};

}  // namespace vipu::simulator
