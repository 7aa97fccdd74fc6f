// SPDX-License-Identifier: Apache-2.0
// How a lease begins, and with which partition and interfaces.
#include <algorithm>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/rail_choice.h"
#include "hook/ledger/internal/rail_rows.h"
#include "hook/ledger/internal/refusals.h"
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;
using sqlite::Transaction;

namespace {

// Returns whether LEASE has what NAMED names, if it is set, of a partition with so many GCDS.
bool fits(const Lease& lease, const std::optional<NamedPartition>& named, uint32_t gcds) {
  if (!named) return true;
  if (lease.partition != named->name) return false;
  if (named->all_gcds) return lease.gcds == gcds;
  return !named->gcd || (lease.gcd == *named->gcd && lease.gcds == 1);
}

// Returns the origin of a lease whose partition was made in advance.
Origin origin_of(const PartitionRecord& record) {
  if (record.kind == PartitionKind::kForeign) return Origin::kForeign;
  return record.shared ? Origin::kShared : Origin::kNamed;
}

// Gives LEASE the partition of OTHER.
void join(const Lease& other, Lease& lease) {
  lease.controller = other.controller;
  lease.partition = other.partition;
  lease.gcd = other.gcd;
  lease.gcds = other.gcds;
  lease.ipus = other.ipus;
  lease.origin = Origin::kJoined;
}

// Checks that a container of another tenant does not use the reservation.
Status check_tenant(const PartitionRecord& record, const Lease& lease) {
  if (lease.tenant.empty() || lease.tenant == record.tenant) return {};
  return Error(Code::kDenied, str("reservation ", quote(record.reservation),
                                  " is of another tenant than ", quote(lease.tenant),
                                  "; name a reservation of this tenant, or make one with"
                                  " 'ipuctl reserve'"));
}

// Checks that this host can claim what it shares with others.
Status check_fleet(const PartitionRecord& record, const Intent& intent) {
  if (record.fleet.empty() || record.fleet == intent.fleet) return {};
  return Error(Code::kUnsupported,
               str("partition ", quote(record.name), " is shared by the hosts of fleet ",
                   quote(record.fleet), ", and this host's configuration ",
                   intent.fleet.empty() ? "has no [fleet]" : "has another 'prefix' in [fleet]",
                   "; set 'endpoints' and 'prefix' of [fleet] as they were"));
}

Result<Lease> new_lease(const Intent& intent) {
  Lease lease;
  lease.id = TRY(base::random_hex(16));
  lease.container = intent.container;
  lease.bundle = intent.bundle;
  lease.tenant = intent.tenant;
  lease.pool = intent.pool.name;
  lease.controller = config::source_of(intent.pool);
  lease.owner = intent.owner;
  lease.state_dir = intent.state_dir;
  lease.asked_ms = intent.asked_ms;
  lease.boot_id = TRY(base::boot_id());
  return lease;
}

// Checks that an address that follows from IPUs goes before their partition does: all containers
// that share the interface have that partition.
Status check_sharers(const Lease& lease, const std::vector<Lease>& attached) {
  const auto by_ipu = std::find_if(lease.rails.begin(), lease.rails.end(),
                                   [](const RailLease& rail) { return rail.by_ipu; });
  if (by_ipu == lease.rails.end()) return {};
  for (const Lease& other : attached) {
    if (other.pool == lease.pool && other.partition == lease.partition) continue;
    return Error(
        Code::kUnsupported,
        str("container ", base::short_id(other.container), " has the network of this",
            " container, but another partition; address ", netns::to_string(by_ipu->address),
            " follows from the IPUs of one partition (scheme = \"ipu\" in network.rail):"
            " start the container with a network of its own, or in the pod of that"
            " partition"));
  }
  return {};
}

}  // namespace

Result<Lease> Ledger::acquire(const Intent& intent) {
  TRY(ensure_reserve(store_->database.path()));
  Lease lease = TRY(new_lease(intent));
  Transaction transaction = TRY(Transaction::begin(store_->database));
  TRY(drain(intent.pool.name).check());
  if (!intent.fleet.empty() && intent.pool.provider == config::Provider::kVipu)
    TRY(host().check_in(intent.fleet));
  lease.created_ms = lease.changed_ms = store_->now();
  TRY(forget_history(*store_, lease.changed_ms - intent.history.count()));
  const std::optional<Lease> other = TRY(find_joinable(intent, lease.boot_id));
  if (other) {
    join(*other, lease);
  } else {
    TRY(choose_partition(intent, lease));
    for (const config::RailConfig& rail : intent.rails) {
      if (rail.base) continue;  // the IPUs will give an address
      TRY(choose_address(store_->database, rail, lease.changed_ms));
    }
  }
  const Status inserted = insert_lease(store_->database, lease);
  if (!inserted.ok() && inserted.error().code() == Code::kExists) return taken(lease);
  TRY(inserted);
  if (intent.waits) TRY(mark_waiting(lease));
  TRY(load_ipus(store_->database, lease));
  TRY(record_change(*store_, lease, "INTENT"));
  TRY(ledger::commit(*store_, transaction));
  return lease;
}

Status Ledger::mark_waiting(const Lease& lease) {
  Statement update = TRY(store_->database.prepare("UPDATE lease SET waits = 1 WHERE id = ?"));
  return update.bind(lease.id).run();
}

Status Ledger::record_refusal(const Intent& intent, const Error& error) {
  Lease lease = TRY(new_lease(intent));
  lease.state = LeaseState::kFailed;
  lease.generation = 1;
  lease.owner = {};
  lease.error = error.message();
  Transaction transaction = TRY(Transaction::begin(store_->database));
  lease.created_ms = lease.changed_ms = store_->now();
  TRY(insert_lease(store_->database, lease));
  TRY(record_change(*store_, lease, "INTENT"));
  note(lease.id, EventKind::kError, error.message());
  const std::string event = TRY(count_refusal(*store_, lease, true));
  TRY(record_change(*store_, lease, event));
  return ledger::commit(*store_, transaction);
}

// Returns the lease of the sandbox if it has a partition that INTENT can join. A container that was
// started again may have several leases: the newest counts.
Result<std::optional<Lease>> Ledger::find_joinable(const Intent& intent, const std::string& boot) {
  if (intent.sandbox.empty()) return std::optional<Lease>();
  std::vector<Lease> leases = TRY(select_leases(store_->database,
                                                "container = ? AND pool = ? AND boot_id = ?"
                                                " AND state IN ('INTENT', 'ALLOCATED', 'RUNNING')",
                                                {intent.sandbox, intent.pool.name, boot}));
  const uint32_t gcds = TRY(gcds_of(intent));
  std::erase_if(leases, [&](const Lease& lease) { return !fits(lease, intent.named, gcds); });
  if (leases.empty()) return std::optional<Lease>();
  if (leases.back().state != LeaseState::kIntent) {
    return std::optional<Lease>(std::move(leases.back()));
  }
  return Error(Code::kBusy, str("container ", base::short_id(intent.sandbox),
                                ", the sandbox of the pod, is still being started"));
}

// Returns how many GCDs the partition of INTENT has. One without a record was made for a lease.
Result<uint32_t> Ledger::gcds_of(const Intent& intent) {
  if (!intent.named) return 1U;
  const auto record = TRY(partitions().find(intent.pool.name, intent.named->name));
  return record ? record->gcds : 1U;
}

Status Ledger::check_share(const Intent& intent, const Lease& lease) {
  if (!intent.share) return {};
  return tenants().check(*intent.share, lease);
}

Status Ledger::choose_partition(const Intent& intent, Lease& lease) {
  if (!intent.named) {
    lease.partition = partition_name(store_->host_tag, lease.id);
    lease.ipus = intent.ipus;
    if (intent.pool.provider == config::Provider::kVipu) lease.fleet = intent.fleet;
    if (!lease.fleet.empty()) lease.claim = lease.id;
    return check_share(intent, lease);
  }
  const std::string name = base::quote(intent.named->name);
  const std::optional<PartitionRecord> record =
      TRY(partitions().find(intent.pool.name, intent.named->name));
  if (!record || record->kind == PartitionKind::kWarm || record->state != PartitionState::kReady) {
    return Error(Code::kNotFound, str("pool '", intent.pool.name, "' has no partition ", name,
                                      " in this host's ledger; create it with 'ipuctl partition"
                                      " create', or adopt one of Graphcore's vipu with 'ipuctl"
                                      " partition adopt'"));
  }
  TRY(check_fleet(*record, intent));
  if (has_ended(*record, lease.created_ms)) {
    return Error(Code::kDenied,
                 str("reservation ", quote(record->reservation), " ended at ",
                     base::rfc3339(record->until_ms), "; reserve again, or extend",
                     " it with 'ipuctl reservation extend ", record->reservation, " --for TIME'"));
  }
  if (!intent.named->gcd && !intent.named->all_gcds && record->gcds > 1) {
    return Error(Code::kInvalid, str("partition ", name, " has ", record->gcds,
                                     " GCDs; select one with IPU_GCD=0"
                                     " to ",
                                     record->gcds - 1, ", or all with IPU_GCD=all"));
  }
  lease.gcd = intent.named->gcd.value_or(0);
  if (lease.gcd >= record->gcds) {
    return Error(Code::kInvalid, str("partition ", name, " has no GCD ", lease.gcd, ": it has ",
                                     record->gcds, ", numbered from 0"));
  }
  lease.partition = record->name;
  lease.controller = record->source;
  lease.origin = origin_of(*record);
  if (intent.named->all_gcds) lease.gcds = record->gcds;
  lease.fleet = record->fleet;
  if (!lease.fleet.empty()) lease.claim = lease.id;
  lease.ipus = record->ipus / record->gcds * lease.gcds;
  if (record->tenant.empty()) return check_share(intent, lease);
  TRY(check_tenant(*record, lease));
  lease.tenant = record->tenant;  // its reservation counts for it
  return {};
}

Status Ledger::take_rails(Lease& lease, const std::vector<RailRequest>& rails,
                          const std::optional<netns::Identity>& in) {
  lease.attachment = lease.id;
  // Set before the lease is attached, for leases that start in the same namespace meanwhile.
  if (in) lease.netns = *in;
  const std::vector<Lease> attached =
      TRY(select_attached(store_->database, lease.netns, lease.boot_id));
  if (!attached.empty()) {
    const Lease& other = attached.front();
    lease.attachment = other.attachment;
    // The last lease left removes the interfaces, even if its own hook never ran.
    lease.netns = other.netns;
    lease.netns_id = other.netns_id;
    lease.host_netns_cookie = other.host_netns_cookie;
  }
  TRY(load_rails(store_->database, lease));
  TRY(reserve_rails(store_->database, lease, rails, lease.changed_ms));
  TRY(check_sharers(lease, attached));
  return load_rails(store_->database, lease);  // sorted by interface
}

// Returns kBusy, naming the holders of the GCDs that LEASE wanted.
Error Ledger::taken(const Lease& lease) {
  std::string text;
  const Result<std::vector<Lease>> holders = partitions().holders(lease.pool, lease.partition);
  for (const Lease& other : holders.ok() ? holders.value() : std::vector<Lease>()) {
    if (other.origin == Origin::kJoined || !gcds_overlap(other, lease)) continue;
    const bool same = same_gcds(other, lease);
    text += str(text.empty() ? "" : ", ", "container ", base::short_id(other.container),
                same ? "" : str(" (", gcds_text(other), ")"));
  }
  const bool one = lease.gcds == 1;
  return {Code::kBusy,
          str(one ? "" : "not ", gcds_text(lease), " of partition ", base::quote(lease.partition),
              one ? " is in use by " : " are free: in use by ",
              text.empty() ? "another lease" : text, "; see 'ipuctl ps'")};
}

}  // namespace hook::ledger
