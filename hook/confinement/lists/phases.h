// SPDX-License-Identifier: Apache-2.0
// The phases of root programs that do not become another program, and what each may do. Pure data:
// the program confinement-filters turns it into filters when the product is built.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hook::confinement {

enum class Phase {
  kWatch,  // ipuctl border watch, mend and remove
  kProbe,  // ipu-container-hook probe
  // Attaching and releasing a lease, reconciling, ipuctl gc; runs ipu-vipu-client and
  // ipu-vipu-endpoint. Also the commands of ipuctl that ask controllers or read what engines wrote.
  kLease,
  // A start without the runtime wrapper. It also starts programs for the phases kProbe and kLease,
  // which inherit its filter, so it may make all their calls.
  kAlone,
  // ipu-agent, and ipuctl reserve; they start programs for the phases kWatch, kLease and kLook.
  kAgent,
  kDoor,  // the process of ipu-agent that reads what users send; it is not root's
  kLook,  // the commands of ipuctl that print what the ledger says
};
inline constexpr std::array kPhases = {Phase::kWatch, Phase::kProbe, Phase::kLease, Phase::kAlone,
                                       Phase::kAgent, Phase::kDoor,  Phase::kLook};

[[nodiscard]] const char* name_of(Phase phase);  // "watch", ...

// Returns the capabilities that PHASE keeps of those that it has: bit N is capability N.
[[nodiscard]] uint64_t capabilities_of(Phase phase);

// A condition on an argument of a system call.
struct Argument {
  enum class Must { kEqual, kDiffer };
  unsigned index;
  uint64_t value;
  uint64_t mask = UINT64_MAX;  // the bits that are compared; all for kDiffer
  Must must = Must::kEqual;
};

// A call that a phase may make: with any arguments, or where all conditions hold. A call may have
// several rules with conditions.
struct Rule {
  std::string_view call;
  std::vector<Argument> where = {};
};
[[nodiscard]] std::vector<Rule> allowed_calls(Phase phase);

// Calls that fail with ENOSYS, as on a kernel that lacks them: a library tries them, and goes on
// without. Any other call ends the process.
struct AbsentCall {
  std::string_view call;
  int number = -1;  // the same on all architectures; -1: the architecture's own
};
[[nodiscard]] std::vector<AbsentCall> absent_calls(Phase phase);

}  // namespace hook::confinement
