// SPDX-License-Identifier: Apache-2.0
// The world of the model of two hosts that share a controller: partitions at the controller, and of
// each host its ledger, its processes and its containers, as far as it matters whose a partition
// is.
#pragma once

#include <array>
#include <cstdint>

namespace model::hosts {

inline constexpr uint8_t kHosts = 2;
inline constexpr uint8_t kBlocks = 2;  // of IPUs at the controller; each partition has one
inline constexpr uint8_t kStarts = 2;  // a host's containers, one after the other
inline constexpr uint8_t kNoHost = kHosts;

// The name of a partition: "train", which people on both hosts may choose, or one that a host gave.
// The latter names a host by its digits and has a number that nobody else gives: MAKER and START
// stand for that number.
struct Name {
  uint8_t kind = 0;  // see below
  uint8_t digits = 0;
  uint8_t maker = 0;
  uint8_t start = 0;
  bool operator==(const Name&) const = default;
};
inline constexpr Name kNoName = {};
inline constexpr Name kTrain = {1, 0, 0, 0};
constexpr Name name_of(uint8_t digits, uint8_t maker, uint8_t start) {
  return {2, digits, maker, start};
}

enum class RowState : uint8_t { kNothing, kIntent, kReady, kRemoving };

struct Row {
  Name name;
  RowState state = RowState::kNothing;
  bool was_late = false;  // a request for it may still be on its way
  uint8_t unused[2] = {};
  bool operator==(const Row&) const = default;
};

// What a process does next. Each is one transaction of the ledger or one request to the controller.
enum class Step : uint8_t {
  kNone,
  // ipuctl partition create train
  kLookForName,
  kIntendName,
  kCreateName,
  kReadyName,
  // ipuctl partition remove train
  kBeginRemoval,
  kRemoveName,
  kRepeatRemoval,  // the answer was lost
  kForgetName,
  // a start, and its release
  kIntend,
  kCreate,
  kRun,
  kBeginRelease,
  kRemove,
  kEnd,
  // ipuctl gc
  kReconcile,
  kListEarlier,
  kRemoveEarlier,
  // ipuctl host fence
  kList,
  kFence,
  kRecordFence,
};

struct Host {
  Row lease;
  Row named;
  Name container;              // the partition of the container that runs; kNoName: none runs
  std::array<Name, 2> listed;  // what the keeper has read from the controller
  Step worker = Step::kNone;   // a start, or an operator's command
  Step keeper = Step::kNone;   // ipuctl gc, or ipuctl host fence
  uint8_t ledger_of = kNoHost;
  uint8_t digits = 0;  // of the ledger's host
  bool is_on = true;
  bool is_new_ledger = false;  // it was made since the boot
  bool has_fenced = false;     // the other host is in its list of fences
  uint8_t starts = 0;          // that began on this machine
  uint8_t creations = 0;       // of "train" on this machine
  uint8_t ended = 0;           // the leases that ended here, a bit for each start
  bool late = false;           // a request for `late_name` is on its way, and its sender is gone
  bool has_changed = false;    // there may be a new partition of it since a fence of it began
  Name late_name;
  bool operator==(const Host&) const = default;
};

struct Partition {
  Name name;
  uint8_t maker = 0;
  uint8_t unused[3] = {};
  bool operator==(const Partition&) const = default;
};

struct World {
  std::array<Host, kHosts> hosts = {};
  std::array<Partition, kBlocks> partitions = {};
  bool operator==(const World&) const = default;

  [[nodiscard]] Partition* find(const Name& name) {
    for (Partition& partition : partitions)
      if (name.kind != 0 && partition.name == name) return &partition;
    return nullptr;
  }
};

}  // namespace model::hosts
