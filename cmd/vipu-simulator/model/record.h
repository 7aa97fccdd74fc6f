// SPDX-License-Identifier: Apache-2.0
// A partition as its controller knows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "vipu/types.h"

namespace vipu::simulator {

// Milliseconds since 1970 that never go back; whoever calls has the clock.
using Time = std::chrono::milliseconds;
inline constexpr Time kNever = Time::max();

// What a create or a reset ends in: ACTIVE, if nothing is set.
struct Outcome {
  std::vector<std::string> errors = {};  // PS_ERROR with these texts
  bool lasting = false;                  // an auto-reset ends in the same errors
  bool stuck = false;                    // never leaves PS_PENDING
};

enum class Cause { kNone, kFault, kAgent };

struct Record {
  PartitionRequest wanted;      // complete: nothing is left open; ipus only if they were named
  std::vector<ChosenIpu> ipus;  // by routing id, which is the place here

  ReadyState ready = ReadyState::kPending;
  OperationState operation = OperationState::kCreating;
  std::vector<std::string> errors = {};  // while ready is kError
  Cause cause = Cause::kNone;            // of these errors
  Outcome outcome = {};                  // of the operation that goes on
  Time due = kNever;                     // when that ends, or when an auto-reset starts
  uint32_t auto_resets = 0;              // since it was made, or reset by a client
  Time last_auto_reset{0};               // 0: never
};

}  // namespace vipu::simulator
