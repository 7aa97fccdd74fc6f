// SPDX-License-Identifier: Apache-2.0
// The plan of injected faults: which calls fail, and how.
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

// The effect on a call. "No answer" lasts until the client gives up or the server ends.
enum class Action {
  kDelay,         // carried out and answered, after the fault's delay
  kStatus,        // not carried out; answered with a status
  kHang,          // not carried out; no answer
  kDropBefore,    // same as kHang; named after a request that is lost
  kLoseReply,     // carried out; no answer, or the fault's status
  kDisconnect,    // carried out; the call ends as if the connection were closed
  kGarbage,       // carried out; answered with bytes that are no message
  kErrorState,    // the partition that is created or reset ends in PS_ERROR
  kStuckPending,  // the partition that is created or reset stays PENDING
};

// Returns "delay", "status", ..., as in a plan.
[[nodiscard]] const char* name_of(Action action);

// Returns whether a plan may name this call.
[[nodiscard]] bool is_call(std::string_view name);

struct Fault {
  std::string call = "*";      // "*": every call
  std::string partition = {};  // a name or, with a final "*", a prefix; empty: every call
  uint32_t skip = 0;           // matching calls that pass first
  uint32_t times = 1;          // number of calls hit after that; 0: all
  double probability = 1;      // for each of these calls
  Action action = Action::kDelay;
  std::chrono::milliseconds delay{0};  // before anything else happens, with every action
  int status = 0;                      // gRPC status number; 0: none
  std::string message = {};
  std::vector<std::string> errors = {};
  bool operator==(const Fault&) const = default;
};

// Returns the number of a gRPC status such as "UNAVAILABLE", or nothing if there is none.
[[nodiscard]] std::optional<int> status_number(std::string_view name);
[[nodiscard]] const char* status_name(int number);  // "UNKNOWN" for other numbers

// Faults in the order in which they are tried, with the number of hits of each.
class FaultPlan {
 public:
  FaultPlan() = default;
  // Parses {"seed":1,"faults":[{"call":"CreatePartition","action":"delay","delay":"2s"}]}. Returns
  // kInvalid with the wrong key. See vipu-simulator(1).
  static base::Result<FaultPlan> parse(std::string_view text);

  // Returns the fault of this call: the first that matches and is due. The same calls in the same
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
