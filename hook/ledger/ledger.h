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
#include "hook/ledger/events.h"
#include "hook/ledger/lease.h"
#include "hook/ledger/partitions.h"
#include "hook/ledger/queue.h"
#include "hook/ledger/transitions.h"

namespace hook::ledger {

struct Store;
namespace sqlite {
class Transaction;
}

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
  config::PoolConfig pool;
  // That must have an address left; none for a container that is to share another's interfaces. Not
  // looked at where a sandbox is joined.
  std::vector<config::RailConfig> rails;
  uint32_t ipus = 0;  // of a new partition; of a named one its record says it
  base::ProcessId owner;
  std::optional<NamedPartition> named = {};  // unset: a new partition
  // The container, sandbox of a pod, whose lease is to be joined; empty: none. Without such a
  // lease, or where NAMED is something else than its partition, it is as if it was not named.
  std::string sandbox = {};
  std::chrono::milliseconds history = config::kDefaultHistory;  // what ended before is forgotten
  std::string state_dir = {};  // of the container, at its low-level runtime; empty: not known
};

// A VF or SF of the host that can be given to a container now.
struct HostFunction {
  std::string interface;
  netns::MacAddress mac;
  std::string rdma_device;  // empty: none
};

// What a lease needs of one rail.
struct RailRequest {
  config::RailConfig rail;
  std::string interface;                     // in the container
  std::vector<HostFunction> functions = {};  // of a rail with functions: those that are there
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
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  ~Ledger();

  // The ledger at PATH, made with its directory if absent (0700). kUnsupported if a newer version
  // of the product wrote it that this one must not write after. kInternal, with what to do, if it
  // is damaged, as far as that is seen by opening it.
  static base::Result<Ledger> open(const std::string& path,
                                   base::WallClock now = base::unix_millis);

  // What the ledger at PATH says now, in memory: whatever is done to it changes no file. An absent
  // one is empty.
  static base::Result<Ledger> open_copy(const std::string& path);

  // A new lease in state INTENT. kBusy when the disk has no reserve for its release, when a rail
  // has no free address, with who holds them, or when another lease has the GCD of the named
  // partition, or the sandbox is still being started; kNotFound if there is no such partition;
  // kInvalid if it has no such GCD. One that joined a sandbox has its partition, and its IPUs, from
  // here on.
  base::Result<Lease> acquire(const Intent& intent);

  // The changes below take the lease as it was read last and bring it up to date on success. kBusy
  // if somebody changed it since: read it again and decide anew. kInternal if the table of
  // transitions.h has no such change from its state.

  // Still INTENT, but with a warm partition of its size instead of the one that it was to make, if
  // there is one. The partition is the lease's own from here on.
  enum class Taken { kYes, kNone };
  base::Result<Taken> take_warm(Lease& lease);
  // INTENT -> ALLOCATED with the IPUs that the controller granted, and one address, or function,
  // for each of RAILS. IN is the network namespace that the container is to share, if it is known
  // already: where a lease that is not being released is attached there, its interfaces are shared,
  // and only what they lack is added. A lease that joined another has that one's IPUs, and not
  // DEVICES. kBusy names the rail that has nothing left, and its holders.
  base::Status mark_allocated(Lease& lease, std::vector<LeasedIpu> devices,
                              std::vector<netns::Prefix> prohibited,
                              const std::vector<RailRequest>& rails,
                              const std::optional<netns::Identity>& in = std::nullopt);
  // Still ALLOCATED, but held by OWNER, which is about to attach the container's namespace.
  // kInvalid if the lease shares interfaces that are in another one.
  base::Status begin_attach(Lease& lease, const base::ProcessId& owner,
                            const AttachedNamespace& netns);
  // ALLOCATED -> RUNNING: the container's first process, in this cgroup, holds the lease.
  base::Status mark_running(Lease& lease, const base::ProcessId& init,
                            const std::string& cgroup = "");
  // Still RUNNING, but INIT is the container's first process now.
  base::Status adopt_process(Lease& lease, const base::ProcessId& init);
  // Still RUNNING, but the controller has moved its IPUs. A lease that joined another's has no rows
  // of its own to change.
  base::Status mark_relocated(Lease& lease, std::vector<LeasedIpu> devices);
  // Any live state -> RELEASING, held by OWNER. ERROR is the reason if the container never ran. A
  // partition that others joined becomes the partition of one of them, and this lease a joined one.
  base::Status begin_release(Lease& lease, const base::ProcessId& owner, const std::string& error);
  // RELEASING -> QUARANTINE, or FREE if it had no address, or FAILED if it has an error. Its IPUs
  // and its partition's name are free now; the addresses of its interfaces, if no other live lease
  // shares them, after a quarantine of two seconds, or of ten minutes where another host answered
  // for one.
  base::Status finish_release(Lease& lease);
  // What stands in the way of a release, after an attempt that failed. It stays RELEASING, held by
  // nobody: whoever comes next may go on, however long this process lives.
  base::Status note_obstacle(Lease& lease, const std::string& obstacle);

  // Another host, with this MAC, answers for the address that the lease has on INTERFACE. The lease
  // itself does not change by it, so that no writer loses. kBusy if the address is not held any
  // more; kNotFound if the lease has no such interface.
  base::Status note_duplicate(const Lease& lease, const std::string& interface,
                              const netns::MacAddress& mac);

  // The other live leases that share LEASE's interfaces and are not being released, oldest first.
  base::Result<std::vector<Lease>> sharers(const Lease& lease);
  // How many addresses are held on the rail with this parent.
  base::Result<uint32_t> held_addresses(const std::string& parent);
  // Of the rail's range: free now, held, in quarantine.
  struct RailUse {
    uint32_t free = 0;
    uint32_t held = 0;
    uint32_t quarantined = 0;
  };
  base::Result<RailUse> use_of(const config::RailConfig& rail);

  base::Result<std::optional<Lease>> find(const std::string& id);
  // The one lease whose id, or whose container's id, is or starts with TEXT; live ones first.
  // kNotFound if there is none; kInvalid if TEXT is short of telling one from another; a whole
  // name always does.
  base::Result<Lease> get(const std::string& text);
  // All leases that hold something, oldest first; and the same in brief.
  base::Result<std::vector<Lease>> live();
  base::Result<std::vector<LeaseHold>> holds();
  // All leases of the container with this whole id, oldest first.
  base::Result<std::vector<Lease>> leases_of(const std::string& container);
  // All that the ledger has, as one JSON object: see ipuctl(8).
  base::Result<std::string> dump();

  [[nodiscard]] Partitions partitions() { return Partitions(*store_); }
  [[nodiscard]] Queue queue() { return Queue(*store_); }
  [[nodiscard]] Events events() { return Events(*store_); }
  // See Events::note().
  void note(const std::string& lease, EventKind kind, std::string_view text) {
    events().note(lease, kind, text);
  }
  // A number that differs from the last one if another process wrote to the ledger in between.
  base::Result<int64_t> data_version();

 private:
  explicit Ledger(std::unique_ptr<Store> store);
  static base::Result<Ledger> open_inside(const std::string& path, base::WallClock now);
  base::Status migrate();
  base::Result<int64_t> compatible_from();
  base::Result<std::optional<Lease>> find_joinable(const Intent& intent, const std::string& boot);
  base::Status choose_partition(const Intent& intent, Lease& lease);
  base::Error taken(const Lease& lease);

  // LEASE as it is stored, in the state that CHANGE leads to, with its next generation and the time
  // of the change; what other leases changed of it is in there. Inside a transaction of the caller.
  base::Result<Lease> begin_change(const Lease& lease, Change change);
  // Writes AFTER in place of LEASE, and commits. LEASE is AFTER only then. EVENT empty: no history.
  base::Status commit(sqlite::Transaction& transaction, Lease& lease, Lease after,
                      std::string_view event);
  base::Status take_rails(Lease& lease, const std::vector<RailRequest>& rails,
                          const std::optional<netns::Identity>& in);
  base::Status pass_partition_on(Lease& lease);
  // The transactions of begin_release() and so on.
  base::Status try_begin_release(Lease& lease, const base::ProcessId& owner,
                                 const std::string& error);
  base::Status try_finish_release(Lease& lease);
  base::Status try_note_obstacle(Lease& lease, const std::string& obstacle);
  [[nodiscard]] Lease as_of_now(Lease lease) const;

  std::unique_ptr<Store> store_;
};

}  // namespace hook::ledger
