// SPDX-License-Identifier: Apache-2.0
// Which calls go wrong, and how.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vipu::simulator {

// What happens to a call. "No answer" lasts until the client gives up or the server ends.
enum class Action {
  kDelay,         // carried out and answered, later
  kStatus,        // not carried out; answered with a status
  kHang,          // not carried out; no answer
  kDropBefore,    // the same, under the name of what it stands for: a request that was lost
  kLoseReply,     // carried out; no answer, or a status if there is one
  kDisconnect,    // carried out; the call ends as if the connection were closed
  kGarbage,       // carried out; answered with bytes that are no message
  kErrorState,    // the partition that is created or reset ends in PS_ERROR
  kStuckPending,  // the partition that is created or reset stays PENDING
};

// "delay", "status", ..., as in a plan.
[[nodiscard]] const char* name_of(Action action);

// The calls that a plan may name.
[[nodiscard]] bool is_call(std::string_view name);

struct Fault {
  std::string call = "*";      // "*": every call
  std::string partition = {};  // a name; with "*" at its end a prefix; empty: every call
  uint32_t skip = 0;           // matching calls that pass first
  uint32_t times = 1;          // then so many are hit; 0: all
  double probability = 1;      // of each of these
  Action action = Action::kDelay;
  std::chrono::milliseconds delay{0};  // before anything else happens, with every action
  int status = 0;                      // number of a gRPC status; 0: none
  std::string message = {};
  std::vector<std::string> errors = {};
  bool operator==(const Fault&) const = default;
};

// "UNAVAILABLE" and its number, as gRPC defines both; nothing if there is none.
[[nodiscard]] std::optional<int> status_number(std::string_view name);
[[nodiscard]] const char* status_name(int number);  // "UNKNOWN" if there is none

// Faults in the order in which they are looked at, and how often each has been hit.
class FaultPlan {
 public:
  FaultPlan() = default;
  // {"seed":1,"faults":[{"call":"CreatePartition","action":"delay","delay":"2s"}]}. kInvalid with
  // the key that is wrong. See vipu-simulator(1).
  static base::Result<FaultPlan> parse(std::string_view text);

  // What happens to this call: the first fault that matches and is due. The same calls in the same
  // order get the same faults.
  std::optional<Fault> hit(std::string_view call, std::string_view partition);

  [[nodiscard]] size_t size() const { return faults_.size(); }

 private:
  struct Counted {
    Fault fault;
    uint32_t skipped = 0;
    uint32_t hits = 0;
  };
  std::vector<Counted> faults_;
  std::mt19937_64 random_;
};

}  // namespace vipu::simulator
