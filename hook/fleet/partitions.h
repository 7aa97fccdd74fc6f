// SPDX-License-Identifier: Apache-2.0
// Partitions that operators named, for all hosts of a fleet, and who uses their GCDs.
//   PREFIX partitions/POOL/NAME/record      what a partition is, and who changes it
//   PREFIX partitions/POOL/NAME/claims/ID   one claim of its GCDs
//   PREFIX fences/TAG                       host TAG was declared dead, and claims nothing
// All hosts call the same pool by the same name. Each claim also changes the record, so of two that
// exclude each other one is made. No claim ends with time: whoever made it removes it, or a fence.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/fleet/store.h"

namespace hook::fleet {

// What this host knows of the store's past: see marks.h.
struct Mark {
  std::string host;         // its tag
  int64_t revision = 0;     // of the store, when the host marked it last; 0: it never did
  int64_t restores = 0;     // how often the store was found to have gone back, by then
  std::string import = {};  // what names the last import by then; empty: there was none
  bool operator==(const Mark&) const = default;
};

// A fleet's store, and where its keys are.
struct Fleet {
  Store& store;
  const std::string& prefix;
  base::Deadline deadline;  // of each call
  std::string id = {};      // of the fleet that this host has joined there; empty: not known
  Mark mark = {};           // a store that has gone back behind it is not changed
};

struct PartitionName {
  std::string pool;
  std::string name;
  bool operator==(const PartitionName&) const = default;
};

struct PartitionFacts {
  std::string maker;   // tag of the host that made or adopted it
  std::string source;  // its controller, as that host's configuration has it
  uint32_t ipus = 0;
  uint32_t gcds = 1;
  bool shared = false;          // several containers may have the same GCD
  bool reconfigurable = false;  // never reset between containers
  bool adopted = false;         // somebody else made it, who alone resets and removes it
  bool operator==(const PartitionFacts&) const = default;
};

struct Claim {
  std::string id;         // of the lease for which it was made, or of a reset
  std::string host;       // tag
  std::string container;  // its id at the engine
  std::string process;    // of a reset: the process that does it; empty: a lease's
  uint32_t gcd = 0;       // the first one
  uint32_t gcds = 1;
  bool uses = false;        // no: its container waits for a reset
  int64_t modified = 0;     // revision of its last change; not written
  std::string tenant = {};  // empty: none
  int64_t since_ms = 0;     // unix time of its host; 0: not known
  // The addresses, of those that follow from IPUs, that no other claim may have: see
  // claim_addresses.h. Unset: an earlier release made it, and it has what its GCDs give.
  std::optional<std::vector<std::string>> addresses = std::vector<std::string>();
  bool operator==(const Claim&) const = default;
};

// LEFT: it is its changer's alone, which left the fleet with it; the record keeps others from it.
enum class PartitionPhase { kMaking, kReady, kRemoving, kLeft };

// A partition at one revision of the store.
struct PartitionView {
  PartitionName name;
  PartitionFacts facts;
  PartitionPhase phase = PartitionPhase::kReady;
  std::string changer;   // tag of the host that makes or removes it, or left with it
  bool dirty = false;    // a container has had it since it was made or reset
  std::string resetter;  // the claim that is to reset it; empty: none
  int64_t modified = 0;  // revision of the record
  int64_t revision = 0;  // of the store
  std::vector<Claim> claims;
};

// Returns what the fleet knows of a partition, if it does.
base::Result<std::optional<PartitionView>> find_partition(const Fleet& fleet,
                                                          const PartitionName& name);
// Returns all of them. What cannot be read is in OBSTACLES.
base::Result<std::vector<PartitionView>> list_partitions(const Fleet& fleet,
                                                         std::vector<base::Error>& obstacles);

struct PartitionClaim {
  PartitionName partition;
  Claim claim;
};
// Returns all claims, also of partitions that the fleet does not know any more. What cannot be read
// is in OBSTACLES.
base::Result<std::vector<PartitionClaim>> list_claims(const Fleet& fleet,
                                                      std::vector<base::Error>& obstacles);

// Returns what HOST has begun to make or to remove, if it has. Fails with kExists, and names the
// host, if the fleet has a partition of this name; as check_ready() if another host makes or
// removes it.
base::Result<std::optional<PartitionView>> find_begun(const Fleet& fleet, const PartitionName& name,
                                                      const std::string& host);

// Makes a partition known, with what already uses it. Fails as find_begun() of VIEW's maker.
base::Status publish(const Fleet& fleet, const PartitionView& view);
// Changes kMaking to kReady, or forgets a partition that HOST could not make.
base::Status finish_making(const Fleet& fleet, const PartitionName& name, const std::string& host);
base::Status forget_making(const Fleet& fleet, const PartitionName& name, const std::string& host);

// Fails with kBusy, and says what to do, while a host makes or removes the partition.
base::Status check_ready(const PartitionView& view);

// Waits until the partition or one of its claims changes, or until FLEET's deadline.
base::Status wait_for_change(const Fleet& fleet, const PartitionName& name);

enum class ClaimDuty {
  kNone,   // the container may use its GCDs
  kReset,  // reset the partition, then finish_reset()
  kWait,   // another claim resets it: claim again once something has changed
};
struct Shares;  // grants.h
// Returns whether a claim's tenant may have it, by what tenants may have and have.
using FitsShare = std::function<base::Status(const Shares&)>;
// Claims GCDs, also again. Fails with kNotFound if the fleet has no such partition, with kBusy if
// one of them has another claim or the partition is being made or removed; with kDenied if the host
// was fenced. If tenants of the fleet have shares, a new claim is made only if it FITS, and neither
// its tenant's share nor what the tenant has changes meanwhile; unset: it fits. Fails with kBusy
// while a host has not told since an import what it has (restored.h). After kTimeout the claim may
// have been made.
base::Result<ClaimDuty> claim(const Fleet& fleet, const PartitionName& name, const Claim& claim,
                              const FitsShare& fits);
// Claims for a container that RUNS, and that the store may not know any more: it uses the
// partition, whoever resets it, and keeps its addresses. Fails as claim(), but waits for no host.
base::Status claim_running(const Fleet& fleet, const PartitionName& name, const Claim& running);
// Says that the reset is done, and its claim uses the partition.
base::Status finish_reset(const Fleet& fleet, const PartitionName& name, const std::string& id);
// Removes a claim. One that is not there is no error.
base::Status unclaim(const Fleet& fleet, const PartitionName& name, const std::string& id);

// Claims a partition that nobody uses, in order to reset it. Fails with kBusy as begin_removal().
base::Status begin_reset(const Fleet& fleet, const PartitionName& name, const Claim& claim);
// Removes that claim. The partition is clean if the reset was DONE.
enum class ResetDone { kNo, kYes };
base::Status end_reset(const Fleet& fleet, const PartitionName& name, const std::string& id,
                       ResetDone done);

// Which claims a removal takes the partition from.
enum class Takes { kNone, kOwn };
// Says that HOST removes the partition. Fails with kBusy, and names hosts and containers, while it
// has other claims than those that it may take, or another host removes it; with kNotFound if the
// fleet has no such partition. Harmless twice.
base::Status begin_removal(const Fleet& fleet, const PartitionName& name, const std::string& host,
                           Takes takes);
// It is gone, or it stays (kReady again).
base::Status finish_removal(const Fleet& fleet, const PartitionName& name, const std::string& host);
base::Status cancel_removal(const Fleet& fleet, const PartitionName& name, const std::string& host);
// HOST leaves with the partition (kLeft). Fails as begin_removal() that takes HOST's own claims.
base::Status take_along(const Fleet& fleet, const PartitionName& name, const std::string& host);
// HOST stays with it: kReady again, if HOST had it as kLeft.
base::Status stay_with(const Fleet& fleet, const PartitionName& name, const std::string& host);
// Removes HOST's claims, of which nothing is left.
base::Status end_claims(const Fleet& fleet, const std::string& host);
// Removes the records of what HOST left with.
base::Status forget_left(const Fleet& fleet, const std::string& host);

// Says that HOST is dead, before its partitions at controllers are removed: if it lives, it is told
// what it has lost. Fails with kBusy if the fleet hears of it, unless that is to be fenced, too.
enum class IfAlive { kRefuse, kFence };
base::Status begin_fence(const Fleet& fleet, const std::string& host, const std::string& me,
                         int64_t at_ms, IfAlive if_alive);
// Says that HOST is dead, at AT_MS (ms since 1970), then removes its claims, its grants and tickets
// (grants.h), and what it had begun to make. What it had begun to remove becomes ME's to remove.
// Its partitions at controllers are removed before that. The last thing that it writes says that
// the fence is finished. With kTaken, the grants that name a warm partition stay, and what it made
// or removed of these, and the fence is not finished.
enum class Leaves { kNothing, kTaken };
base::Status fence(const Fleet& fleet, const std::string& host, const std::string& me,
                   int64_t at_ms, Leaves leaves = Leaves::kNothing);
// Allows it to claim again. Returns whether it was fenced.
base::Result<bool> forget_fence(const Fleet& fleet, const std::string& host);

// Returns "container 0123456789ab on host 1f2e3d4c (GCD 0)".
[[nodiscard]] std::string holder_text(const Claim& claim);
// Returns kBusy, with what has a partition: containers and their hosts.
[[nodiscard]] base::Error claimed(const PartitionName& name, const std::vector<Claim>& claims);

}  // namespace hook::fleet
