// SPDX-License-Identifier: Apache-2.0
// The ledger: which container holds which partition, IPUs and addresses on this host. SQLite on the
// local disk, opened by each process for itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/ledger/lease.h"
#include "hook/ledger/partitions.h"
#include "hook/ledger/queue.h"
#include "hook/ledger/sqlite.h"
#include "hook/ledger/store.h"

namespace hook {

// A partition that was made ahead, by its name. Without a GCD its only one is meant.
struct NamedPartition {
  std::string name;
  std::optional<uint32_t> gcd;
};

// What a new lease starts from.
struct Intent {
  std::string container;
  std::string bundle;
  std::string tenant;
  PoolConfig pool;
  std::vector<RailConfig> rails;
  uint32_t ipus = 0;  // of a new partition; of a named one its record says it
  base::ProcessId owner;
  std::optional<NamedPartition> named = {};  // unset: a new partition
};

// The network namespace that a lease is attached in.
struct AttachedNamespace {
  netns::Identity identity;
  int32_t id = -1;           // by which the host's namespace knows it
  uint64_t host_cookie = 0;  // of the host's namespace
};

// Every change is one durable transaction, and either wholly done or not at all. The database
// itself refuses a partition, an IPU, an address or a MAC that another live lease holds (kExists).
class Ledger {
 public:
  // The ledger at PATH, made with its directory if absent (0700). kUnsupported if a newer version
  // of the product wrote it.
  static base::Result<Ledger> open(const std::string& path, WallClock now = base::unix_millis);

  // A new lease in state INTENT with one address a rail. kBusy when a rail has no free address, or
  // when another lease has the GCD of the named partition; kNotFound if there is no such partition;
  // kInvalid if it has no such GCD.
  base::Result<Lease> acquire(const Intent& intent);

  // The changes below take the lease as it was read last and bring it up to date on success. kBusy
  // if somebody changed it since: read it again and decide anew. kInternal if its state is not the
  // one that the change starts from.

  // Still INTENT, but with a warm partition of its size instead of the one that it was to make, if
  // there is one. The partition is the lease's own from here on.
  enum class Taken { kYes, kNone };
  base::Result<Taken> take_warm(Lease& lease);
  // INTENT -> ALLOCATED with the IPUs that the controller granted.
  base::Status allocated(Lease& lease, std::vector<LeasedIpu> devices,
                         std::vector<netns::Ipv4Prefix> prohibited);
  // Still ALLOCATED, but held by OWNER, which is about to attach the container's namespace.
  base::Status attaching(Lease& lease, const base::ProcessId& owner,
                         const AttachedNamespace& netns);
  // ALLOCATED -> RUNNING: the container's first process holds the lease.
  base::Status running(Lease& lease, const base::ProcessId& init);
  // Any live state -> RELEASING, held by OWNER. ERROR is the reason if the container never ran.
  base::Status releasing(Lease& lease, const base::ProcessId& owner, const std::string& error);
  // RELEASING -> FREE, or FAILED if it has an error. Its IPUs and its partition's name are free
  // now, its addresses after a quarantine of two seconds.
  base::Status released(Lease& lease);
  // What stands in the way of a release, for people; the state stays.
  base::Status note_obstacle(Lease& lease, const std::string& obstacle);

  base::Result<std::optional<Lease>> find(const std::string& id);
  // The one lease whose id, or whose container's id, is or starts with TEXT; live ones first.
  // kNotFound if there is none; kInvalid if TEXT is short of telling one from another; a whole
  // name always does.
  base::Result<Lease> get(const std::string& text);
  // All leases that hold something, oldest first.
  base::Result<std::vector<Lease>> live();

  [[nodiscard]] Partitions partitions() { return Partitions(*store_); }
  [[nodiscard]] Queue queue() { return Queue(*store_); }
  // A number that differs from the last one if another process wrote to the ledger in between.
  base::Result<int64_t> data_version();

 private:
  explicit Ledger(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  base::Status migrate();
  base::Result<netns::Ipv4> choose_address(const RailConfig& rail);
  base::Result<RailLease> reserve_address(const Lease& lease, const RailConfig& rail);
  // Writes AFTER in place of LEASE, and commits. LEASE is AFTER only then.
  base::Status commit(sqlite::Transaction& transaction, Lease& lease, Lease after,
                      std::string_view event);
  base::Status forget_history(int64_t before_ms);

  base::Status choose_partition(const Intent& intent, Lease& lease);
  base::Error taken(const Lease& lease);

  std::unique_ptr<Store> store_;
};

}  // namespace hook
