// SPDX-License-Identifier: Apache-2.0
// The world of the model of two hosts with one fence: the fleet's store, the partitions of the
// controller, and of each host one lease and one record of a partition in its ledger, and one
// container. Host 0 is fenced by host 1.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/fleet/store.h"
#include "tests/support/fake_store.h"
#include "vipu/types.h"

namespace model::fences {

inline constexpr uint8_t kHosts = 2;
inline constexpr uint8_t kNobody = UINT8_MAX;

enum class RowState : uint8_t { kNone, kIntent, kRunning, kReleasing };
enum class RecordState : uint8_t { kNone, kIntent, kReady, kRemoving };

// What an actor does next: one call to the store or to the controller, or one transaction of its
// host's ledger.
struct Call {
  enum class What : uint8_t {
    kCommit,
    kListKeys,
    kGrantLease,
    kKeepLease,
    kRevokeLease,
    kListPartitions,
    kCreate,
    kRemove,
    kReset,
    kIntend,      // the ledger has the lease
    kRun,         // it is RUNNING, and so is its container
    kEnd,         // the container ends
    kTakeOver,    // the lease is RELEASING
    kForget,      // the lease is FREE
    kReadLedger,  // which leases are live
    kTakeWarm,    // the lease has the warm partition
    // A partition's record: warm ones and reservations.
    kMakeRecord,    // INTENT, unless there is one
    kRemoveRecord,  // REMOVING: a new one, unless there is one
    kReadyRecord,   // READY
    kSeizeRecord,   // REMOVING, of what a dead process left, or of a reservation that nobody uses
    kDropRecord,    // it is gone
    kReadRecord,
    kIntendOnRecord,  // the ledger has a lease with a partition whose record is READY
    kRecordFence,     // an operator's command has ended well
  };
  What what = What::kCommit;
  hook::fleet::Txn txn = {};
  std::string name = {};  // a prefix, or a partition
  int64_t lease = 0;
};

struct Answer {
  std::optional<base::Error> error = {};
  hook::fleet::TxnResult txn = {};
  hook::fleet::Listing listing = {};
  hook::fleet::Lease lease = {};
  std::vector<vipu::Partition> partitions = {};
  RowState row = RowState::kNone;
  bool had_lease = false;
  RecordState record = RecordState::kNone;
};

enum class Life : uint8_t { kGoes, kDone, kKilled };

struct Actor {
  std::vector<uint32_t> log = {};  // its answers until now, by their numbers
  Life life = Life::kGoes;
};

struct Host {
  bool is_on = true;
  bool runs = false;  // its container
  RowState row = RowState::kNone;
  uint8_t owner = kNobody;  // the actor that holds the lease
  bool had_lease = false;   // its history has the lease
  std::string taken = {};   // the warm partition of the lease; empty: it has its own
  RecordState record = RecordState::kNone;
  uint8_t record_owner = kNobody;
  std::string record_name = {};
};

// A partition at the controller.
struct Made {
  bool after_fence = false;  // it was made when its host was declared dead already
};

// How much can still go wrong.
struct Troubles {
  uint8_t failures = 0;  // calls that are not carried out
  uint8_t losses = 0;    // calls whose answer is lost
  uint8_t kills = 0;     // processes that are killed
  uint8_t powers = 0;    // times that host 0 loses power
};

struct World {
  test::FakeStore store = {};
  std::map<std::string, Made> partitions = {};
  std::array<Host, kHosts> hosts = {};
  std::vector<Actor> actors = {};
  Troubles left = {};
  bool is_recorded = false;  // the fence, in host 1's ledger
};

}  // namespace model::fences
