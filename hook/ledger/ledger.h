// SPDX-License-Identifier: Apache-2.0
// Which container holds which partition, IPUs and addresses on this host: an SQLite database on the
// local disk, which each process opens for itself.
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
#include "hook/ledger/drain.h"
#include "hook/ledger/endpoints.h"
#include "hook/ledger/events.h"
#include "hook/ledger/fences.h"
#include "hook/ledger/health.h"
#include "hook/ledger/host.h"
#include "hook/ledger/intent.h"
#include "hook/ledger/partitions.h"
#include "hook/ledger/queue.h"
#include "hook/ledger/transitions.h"
#include "hook/ledger/usage.h"

namespace hook::ledger {

struct Store;
namespace sqlite {
class Transaction;
}

// Every change is one durable transaction, done wholly or not at all. The database refuses a
// partition, an IPU, an address or a MAC that another live lease holds (kExists).
class Ledger {
 public:
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  ~Ledger();

  // Opens the ledger at PATH; creates it and its directory (0700) if absent. Fails with
  // kUnsupported if a newer version of the product wrote it and this one must not write to it.
  // Fails with kInternal, with what to do, if opening it shows damage.
  static base::Result<Ledger> open(const std::string& path,
                                   base::WallClock now = base::unix_millis);
  // Opens the ledger of this host, whose live leases have directories in RUN_DIR/leases. Does as
  // open() does, but makes no ledger if one of them is there: the ledger is lost then, and a new
  // one would give to others what containers hold.
  static base::Result<Ledger> open_of_host(const std::string& path, const std::string& run_dir);

  // Opens a copy in memory: changes reach no file. The copy is empty if there never was a ledger.
  static base::Result<Ledger> open_copy(const std::string& path);
  // Opens the ledger as it is at this moment, to read it soon: changes fail, and others shorten no
  // log meanwhile. Costs the same however long the history is. If the ledger has another schema, no
  // log, or is absent, opens a copy.
  static base::Result<Ledger> open_view(const std::string& path);

  // Creates a lease in state INTENT. One that joins a sandbox has its partition and IPUs from here
  // on. Fails with kBusy if the disk has no reserve for the release, a rail has no free address
  // (the error names the holders), another lease has the named GCD, or the sandbox is still being
  // started; with kNotFound if there is no such partition, kInvalid if it has no such GCD, and
  // kDenied if the host, or the pool, is drained.
  base::Result<Lease> acquire(const Intent& intent);
  // Records that the start of INTENT was refused with ERROR before it had a lease, as a lease that
  // is FAILED and never held anything. Refusals of one kind become a count, as in finish_release().
  base::Status record_refusal(const Intent& intent, const base::Error& error);

  // These changes take the lease as last read and update it on success. They fail with kBusy if it
  // has changed since (read it and decide anew), kInternal if transitions.h has no such change.

  // Stays INTENT; a warm partition of its size, or GIVEN of its fleet, is its own from here on.
  enum class Taken { kYes, kNone };
  base::Result<Taken> take_warm(Lease& lease, const std::string& given = "");
  // Changes INTENT to ALLOCATED, with the granted IPUs (DEVICES; a lease that joined another has
  // that one's) and an address or function on each of RAILS. If IN, the namespace that the
  // container will share, has a lease that is not being released, shares its interfaces and adds
  // only what they lack. Fails with kBusy if a rail has nothing left, with kExists if another lease
  // has one of DEVICES or the address that they give, with kDenied if another host answers for that
  // address, and with kUnsupported if IN has a lease of another partition and such an address. Each
  // error names what is taken and the holders. A lease of a GCD that several may have, and whose
  // address is taken, gets one of the rail's range.
  base::Status mark_allocated(Lease& lease, std::vector<LeasedIpu> devices,
                              std::vector<netns::Prefix> prohibited,
                              const std::vector<RailRequest>& rails,
                              const std::optional<netns::Identity>& in = std::nullopt);
  // Stays ALLOCATED, held by OWNER, which is about to attach the container's namespace. Fails with
  // kInvalid if the lease shares interfaces that are in another namespace.
  base::Status begin_attach(Lease& lease, const base::ProcessId& owner,
                            const AttachedNamespace& netns);
  // Changes ALLOCATED to RUNNING, held by the container's first process, in this cgroup.
  base::Status mark_running(Lease& lease, const base::ProcessId& init,
                            const std::string& cgroup = "");
  // Stays RUNNING, held by INIT, the container's new first process.
  base::Status adopt_process(Lease& lease, const base::ProcessId& init);
  // Stays RUNNING; stores the new place of its IPUs. A joined lease has no rows of its own.
  base::Status mark_relocated(Lease& lease, std::vector<LeasedIpu> devices);
  // Stays RUNNING; its container is kept from MORE, too.
  base::Status mark_prohibited(Lease& lease, const std::vector<netns::Prefix>& more);
  // Changes any live state to RELEASING, held by OWNER. ERROR: why the container never ran; may be
  // empty. If other leases joined the partition, it passes to one of them; this one becomes joined.
  base::Status begin_release(Lease& lease, const base::ProcessId& owner, const std::string& error);
  // Changes RELEASING to QUARANTINE (FREE without an address, FAILED with an error). Its IPUs and
  // partition name are free now; unshared addresses in 2 s, or 10 min if another host answered.
  // Refused starts of one kind become a count (internal/refusals.h), and the next one replaces
  // this one unless its partition may still come into being.
  enum class Late { kMayCome, kNever };
  base::Status finish_release(Lease& lease, Late late = Late::kMayCome);
  // Records what blocked a release. The lease stays RELEASING; any process may continue the
  // release.
  base::Status note_obstacle(Lease& lease, const std::string& obstacle);

  // Records that another host, with MAC, answers for the address on INTERFACE. LEASE is unchanged,
  // so no writer fails. Fails with kBusy if the address is not held, kNotFound if it does not
  // exist.
  base::Status note_duplicate(const Lease& lease, const std::string& interface,
                              const netns::MacAddress& mac);

  // Shortens what the next process that opens the ledger alone has to read, if nobody else is at
  // work. For a process for which nobody waits: it syncs the database.
  void settle();

  // Returns other live leases with LEASE's interfaces that are not being released, oldest first.
  base::Result<std::vector<Lease>> sharers(const Lease& lease);
  // Returns how many addresses are held on the rail with this parent.
  base::Result<uint32_t> held_addresses(const std::string& parent);
  // The number of addresses in a rail's range, by state, and of those that IPUs give.
  struct RailUse {
    uint32_t free = 0;
    uint32_t held = 0;
    uint32_t quarantined = 0;
    uint32_t held_by_ipu = 0;
    uint32_t set_aside_by_ipu = 0;  // because another host answers for it
  };
  base::Result<RailUse> use_of(const config::RailConfig& rail);

  base::Result<std::optional<Lease>> find(const std::string& id);
  // Returns the lease whose id or container's id starts with TEXT; prefers live, then newer ones.
  // Fails with kNotFound if there is none, kInvalid if TEXT is ambiguous; a whole id never is.
  base::Result<Lease> get(const std::string& text);
  // Return all leases that hold something, oldest first: whole, and in brief.
  base::Result<std::vector<Lease>> live();
  base::Result<std::vector<LeaseHold>> holds();
  // Returns all leases of the container with this complete id, oldest first.
  base::Result<std::vector<Lease>> leases_of(const std::string& container);
  // Returns the whole ledger as one JSON object: see ipuctl(8).
  base::Result<std::string> dump();

  [[nodiscard]] Partitions partitions() { return Partitions(*store_); }
  [[nodiscard]] Queue queue() { return Queue(*store_); }
  [[nodiscard]] Tenants tenants() { return Tenants(*store_); }
  [[nodiscard]] Usage usage() { return Usage(*store_); }
  [[nodiscard]] Drain drain(const std::string& pool = "") { return {*store_, pool}; }
  [[nodiscard]] LedgerHost host() const { return LedgerHost(*store_); }
  [[nodiscard]] Fences fences() { return Fences(*store_); }
  [[nodiscard]] Endpoints endpoints() { return Endpoints(*store_); }
  [[nodiscard]] Health health() { return Health(*store_); }
  [[nodiscard]] Events events() { return Events(*store_); }
  // See Events::note().
  void note(const std::string& lease, EventKind kind, std::string_view text) {
    events().note(lease, kind, text);
  }
  // Returns a number that changes when another process has written to the ledger.
  base::Result<int64_t> data_version();

 private:
  explicit Ledger(std::unique_ptr<Store> store);
  static base::Result<Ledger> open_unless_lost(const std::string& path, base::WallClock now,
                                               const std::string& leases);
  static base::Result<Ledger> open_inside(const std::string& path, base::WallClock now);
  base::Status migrate(const std::string& path, bool had_reserve);
  base::Result<int64_t> compatible_from();
  base::Result<std::optional<Lease>> find_joinable(const Intent& intent, const std::string& boot);
  base::Result<uint32_t> gcds_of(const Intent& intent);
  base::Status choose_partition(const Intent& intent, Lease& lease);
  base::Error taken(const Lease& lease);
  base::Status mark_waiting(const Lease& lease);
  base::Status check_share(const Intent& intent, const Lease& lease);

  // Returns LEASE as stored, with what other leases changed in it, in the state after CHANGE, with
  // its next generation and the time of the change. Runs inside the caller's transaction.
  base::Result<Lease> begin_change(const Lease& lease, Change change);
  // Writes AFTER and commits; only then sets LEASE to AFTER. An empty EVENT leaves no history.
  base::Status commit(sqlite::Transaction& transaction, Lease& lease, Lease after,
                      std::string_view event);
  base::Status take_rails(Lease& lease, const std::vector<RailRequest>& rails,
                          const std::optional<netns::Identity>& in);
  base::Status pass_partition_on(Lease& lease);
  // One transaction each, for the public changes that release.
  base::Status try_begin_release(Lease& lease, const base::ProcessId& owner,
                                 const std::string& error);
  base::Status try_finish_release(Lease& lease, Late late);
  base::Status try_note_obstacle(Lease& lease, const std::string& obstacle);
  [[nodiscard]] Lease as_of_now(Lease lease) const;

  std::unique_ptr<Store> store_;
};

}  // namespace hook::ledger
