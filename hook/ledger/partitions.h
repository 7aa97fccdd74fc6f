// SPDX-License-Identifier: Apache-2.0
// Partitions that no lease made: those that an operator named, warm ones, which wait for a
// container, and those that somebody else made and an operator adopted. As with leases, the intent
// is written before the controller is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "hook/ledger/lease.h"
#include "hook/ledger/tenants.h"
#include "vipu/controller.h"

namespace hook::ledger {

struct Store;

enum class PartitionKind {
  kNamed,    // made by an operator
  kWarm,     // made in advance for a container
  kForeign,  // made by somebody else, who alone resets and removes it; always READY. Programs that
             // do not know this kind fail to read its row, and so leave the partition alone
};
// INTENT: being made. READY: usable. REMOVING: being removed. The life of a process holds INTENT
// and REMOVING; when it ends, the partition is a leftover.
enum class PartitionState { kIntent, kReady, kRemoving };

[[nodiscard]] std::string_view name_of(PartitionKind kind);
[[nodiscard]] std::string_view name_of(PartitionState state);

struct PartitionRecord {
  std::string pool;
  std::string name;
  std::string source;  // see source_of()
  PartitionKind kind = PartitionKind::kNamed;
  PartitionState state = PartitionState::kIntent;
  uint32_t ipus = 0;
  uint32_t gcds = 1;
  bool shared = false;  // several containers may have the same GCD
  bool reconfigurable = false;
  bool dirty = false;    // a container has had it since it was made or reset
  std::string resetter;  // lease that is resetting it; empty: none
  base::ProcessId owner;
  std::string boot_id;
  int64_t created_ms = 0;
  uint32_t attempts = 0;          // failed attempts at the removal
  int64_t retry_ms = 0;           // unix time before which no start tries the removal again
  std::string reservation = {};   // the name of the reservation that it is; empty: none
  int64_t until_ms = 0;           // unix time of its end; 0: it has none
  std::string reserved_for = {};  // whoever it is for, in the words of who reserved it
  int64_t user = -1;              // uid of who reserved it; -1: unknown
  std::string tenant = {};        // to which the reservation counts; empty: none
  std::string fleet = {};         // prefix of the fleet whose hosts share it; empty: none
};

// Where partitions come from: a pool, and what source_of() says of it.
struct PartitionSource {
  std::string pool;
  std::string source;
};

// Returns whether RECORD is a reservation whose time is over.
[[nodiscard]] bool has_ended(const PartitionRecord& record, int64_t now_ms);

// Who must reset a partition before a container gets it.
enum class ResetDuty {
  kNone,    // nobody: it is clean, reconfigurable, or in use
  kMine,    // this lease
  kOthers,  // another lease, which is resetting it or not released yet: ask again
};

// Returns kBusy: the partition cannot be changed while HOLDERS have it. Names their containers.
[[nodiscard]] base::Error in_use(const std::string& name, const std::vector<Lease>& holders);

class Partitions {
 public:
  explicit Partitions(Store& store) : store_(store) {}

  // Adds a record in state INTENT. Fails with kExists if the name is taken in the pool, or another
  // partition there is a reservation of the same name; with kDenied if the reservations of its user
  // would have more than MOST IPUs then, and as Tenants::check() if its tenant has a SHARE.
  base::Status intend(const PartitionRecord& record, uint32_t most = UINT32_MAX,
                      const std::optional<Share>& share = {});
  // Adds RECORD, which has no tenant, in place of LEFT, a record of the same name in state INTENT,
  // so that the ledger has one of them at any time. Fails with kBusy if another process has changed
  // LEFT meanwhile.
  base::Status intend_again(const PartitionRecord& record, const PartitionRecord& left);
  // Fails with kDenied if the reservations of RECORD's user and RECORD have more than MOST IPUs.
  base::Status check_share(const PartitionRecord& record, uint32_t most);
  // Does the same as intend() for a warm partition, unless its pool has LIMIT warm ones of its size
  // already, or it or the host is drained (kNo).
  enum class Recorded { kYes, kNo };
  base::Result<Recorded> intend_warm(const PartitionRecord& record, uint32_t limit);
  // Adds a READY record of a FOREIGN partition, which has these IPUs. Fails with kExists if its
  // name is taken in the pool or in another pool of the same controller. Fails with kBusy if a
  // container has one of its IPUs, or another partition of the same name.
  base::Status adopt(const PartitionRecord& record, const std::vector<LeasedIpu>& ipus);
  // Removes the record of a FOREIGN partition and changes nothing else. Fails with kBusy while a
  // live lease has the partition; the error names the containers.
  base::Status forget(const PartitionRecord& record);
  // Records that a READY partition is its fleet's, or RECORD if it is not known. Fails with kBusy,
  // and names the containers, if it is known as another one, and live leases have it.
  base::Status learn(const PartitionRecord& record);
  // Records that a fleet shares the partition, and that its live leases have CLAIMS there, by their
  // ids. Fails with kBusy, and names the containers, if one of them has none.
  base::Status share(const PartitionRecord& record, const std::string& fleet,
                     const std::set<std::string>& claims);
  // Undoes share(): the partition, which containers have, and they themselves are this host's
  // alone. Fails with kBusy, and names them, while containers that have it begin.
  base::Status take_back(const PartitionRecord& record);
  // Removes the record of a warm partition that this host made or was to remove: the fleet's store
  // alone says whose it is. WHY is the event's text.
  base::Status hand_over(const PartitionRecord& record, std::string_view why);
  // Removes the record of a partition that its fleet has no more; kBusy while live leases have it,
  // or if another process has changed it since it was read: it may be made again.
  base::Status unlearn(const PartitionRecord& record);
  // Records that the books of FLEET, a prefix, have the IPUs of a live lease under its id. Fails
  // with kDenied if this host has left it meanwhile.
  base::Status claim_own(const Lease& lease, const std::string& fleet);
  // Records that no books have IPUs of any lease's own partition.
  base::Status disclaim_own();
  // Records that the partition of LEASE, which is being released, is another container's by now.
  // LEASE has joined it from here on, and has no claim.
  base::Status leave(Lease& lease);
  // Gives up what live leases claim at FLEET, whose store is lost. Returns a line for each: "GCD 0
  // of partition p0 by container 0123456789ab".
  base::Result<std::vector<std::string>> give_up_claims(const std::string& fleet);
  // Changes INTENT to READY, and sets the end of a reservation.
  base::Status mark_ready(const PartitionRecord& record);
  // Sets the end of a READY reservation. Fails with kBusy if it is none any more.
  base::Status set_end(const PartitionRecord& record, int64_t until_ms);
  // Changes any state to REMOVING, held by OWNER. Fails with kDenied for a FOREIGN partition.
  // Without FORCE, fails with kBusy while a live lease has the partition; the error names the
  // containers. Also fails with kBusy if another process changed the record meanwhile, or extended
  // the reservation.
  base::Status begin_removal(PartitionRecord& record, const base::ProcessId& owner,
                             vipu::Force force);
  // Removes the record. A random name that the controller did not have (kWasAbsent) is one of
  // is_late() from here on: a request whose answer was lost may still make its partition.
  base::Status finish_removal(const PartitionRecord& record,
                              base::Removed removed = base::Removed::kNow);
  // Records that a removal failed. The partition is then a leftover that no process holds.
  base::Status note_failure(const PartitionRecord& record);
  // Changes REMOVING to READY: the partition is still there, and stays.
  base::Status cancel_removal(const PartitionRecord& record);

  base::Result<std::optional<PartitionRecord>> find(const std::string& pool,
                                                    const std::string& name);
  base::Result<std::vector<PartitionRecord>> all();  // sorted by pool and age
  // Returns whether a lease, also an ended one, a record or is_late() knows a partition of this
  // name.
  base::Result<bool> knows(const std::string& name);
  // Returns the live leases of the partition.
  base::Result<std::vector<Lease>> holders(const std::string& pool, const std::string& name);

  // Returns whether an ended lease had partition NAME of FROM for itself, or it may come for
  // another reason, and no live lease has it. Such names are random and used once, so any partition
  // of that name is ours.
  base::Result<bool> is_late(const PartitionSource& from, const std::string& name);
  // Returns all sources of such partitions, sorted.
  base::Result<std::vector<PartitionSource>> late_sources();

  // Returns who must reset the partition of LEASE, which is in state INTENT. The caller asks again
  // while the answer is kOthers.
  base::Result<ResetDuty> reset_duty(const Lease& lease);
  // Records that LEASE has done the reset that it had to do.
  base::Status finish_reset(const Lease& lease);
  // Records the reset of a partition that no container has.
  base::Status mark_reset(const PartitionRecord& record);

 private:
  Store& store_;
};

}  // namespace hook::ledger
