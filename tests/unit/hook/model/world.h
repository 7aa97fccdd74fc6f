// SPDX-License-Identifier: Apache-2.0
// The world of the model: the ledger's rows, what is there outside, and the processes, as far as
// the life of a lease depends on them.
#pragma once

#include <array>
#include <cstdint>

#include "hook/ledger/lease.h"

namespace model {

inline constexpr uint8_t kStarts = 2;     // of containers; each has a lease of its own
inline constexpr uint8_t kReleasers = 2;  // poststops and reconcilers, at the same time

// Who does something. The starter of a container is its runtime: the wrapper, which becomes runc.
using Actor = uint8_t;
inline constexpr Actor kNobody = 0;  // or somebody who is gone: to those who look it is the same
constexpr Actor starter(uint8_t start) { return static_cast<Actor>(1 + start); }
constexpr Actor hook_of(uint8_t start) { return static_cast<Actor>(1 + kStarts + start); }
constexpr Actor releaser(uint8_t i) { return static_cast<Actor>(1 + 2 * kStarts + i); }
inline constexpr uint8_t kProcesses = 2 * kStarts + kReleasers;
// The container's first process.
constexpr Actor container_of(uint8_t start) { return static_cast<Actor>(1 + kProcesses + start); }

// What a process does next. Each is one transaction of the ledger, one request to the kernel, or
// one to the controller, and so nothing comes between; between two of them everything may.
enum class Step : uint8_t {
  kNone,  // there is no such process
  // the starter
  kReconcile,
  kIntend,
  kCreate,
  kAllocate,
  kWriteFiles,
  kEditBundle,
  kExec,
  kRuntime,  // it is runc, until the container is created, or (`runc run`) as long as that runs
  kOver,     // it was there
  // the hook
  kRead,
  kAttach,
  kLock,  // and look at the ledger again
  kMakeInterface,
  kLookAtContainer,
  kRun,
  // whoever releases
  kTake,
  kRemoveInterface,
  kRemovePartition,
  kRemoveFiles,
  kEnd,
};

// A LeaseState in one byte.
class State {
 public:
  constexpr State(
      hook::ledger::LeaseState state = hook::ledger::LeaseState::kIntent)  // NOLINT: it is the same
      : value_(static_cast<uint8_t>(state)) {}
  constexpr operator hook::ledger::LeaseState() const {
    return static_cast<hook::ledger::LeaseState>(value_);
  }

 private:
  uint8_t value_;
};

struct Process {
  Step step = Step::kNone;
  uint8_t lease = 0;  // that it works on
  // Its copy of the lease: the state, and whether the lease was changed since. The ledger compares
  // generations; that is all that they can tell.
  State seen = {};
  bool is_stale = false;
  bool has_obstacle = false;  // something could not be undone
  bool never_made = false;    // the controller certainly has no partition
  bool is_poststop = false;   // until it has taken the lease over
  uint8_t called_for = 0;     // poststop: the lease that it was called with
  bool operator==(const Process&) const = default;
};

// A row of the ledger. Of a lease that is not live it means nothing but its state.
struct Row {
  bool exists = false;
  State state = {};
  Actor owner = kNobody;
  uint8_t ipus = 0;     // the block that it holds; 0: none
  uint8_t address = 0;  // 0: none
  bool is_attached = false;
  uint8_t unused[2] = {};
  bool operator==(const Row&) const = default;
};

enum class Container : uint8_t { kNone, kCreated, kRunning, kDead };

// What there is of one start outside the ledger.
struct Outside {
  uint8_t partition = 0;  // at the controller: its block of IPUs; 0: there is none
  bool is_late = false;   // the request to make it is still on its way
  bool interface = false;
  bool netns = false;  // the container's namespace
  bool files = false;
  bool bundle = false;  // config.json names the lease, so that a poststop may come
  Container container = Container::kNone;
  uint8_t unused = 0;
  bool operator==(const Outside&) const = default;
};

struct World {
  std::array<Row, kStarts> rows = {};
  std::array<Outside, kStarts> outside = {};
  std::array<Process, kProcesses> processes = {};  // by actor - 1
  bool operator==(const World&) const = default;

  [[nodiscard]] Process& of(Actor actor) { return processes[actor - 1U]; }
  [[nodiscard]] const Process& of(Actor actor) const { return processes[actor - 1U]; }
  [[nodiscard]] bool is_live(uint8_t lease) const {
    return rows[lease].exists && hook::ledger::is_live(rows[lease].state);
  }
};

}  // namespace model
