// SPDX-License-Identifier: Apache-2.0
// The queue for IPUs. It serves the waiting requests of all processes of the host, or of all hosts
// of a fleet, in order of arrival, or first those of tenants that are within their guaranteed share
// (shares.h).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/fleet_place.h"

namespace hook::lifecycle {

struct WaitFor {
  std::string resource;  // a pool's name, or "pool/partition"
  std::string container;
  uint32_t ipus = 0;                                  // 0: unknown, or none of the tenant's share
  std::chrono::milliseconds time{0};                  // 0: the request does not wait
  uint32_t max_waiters = config::kDefaultMaxWaiters;  // for all resources together
  std::string bundle = {};                            // of the container
  std::string_view option = "IPU_WAIT";  // by which the request waits, and an example of it
  std::string_view example = "IPU_WAIT=60s";
  int64_t user = -1;  // uid of who asks; -1: who has logged in
  // Where backfill is possible for this request: the pool that RESOURCE names. Null: it is not.
  const config::PoolConfig* backfill = nullptr;
  std::string tenant = {};  // empty: none
  // Whose shares decide who is served first; null or empty: the order of arrival.
  const std::vector<config::TenantConfig>* tenants = nullptr;
  // Where the hosts of a fleet may share the resource: its pool. Null: they do not.
  const config::PoolConfig* shared = nullptr;
};

// A request for a reservation stands in the queue as this and its name, in place of a container.
inline constexpr std::string_view kReservationWaiter = "reservation ";
// Returns "16-31": the numbers of the block's IPUs in their pool.
[[nodiscard]] std::string block_text(const vipu::Block& block);

// Returns "container 0123456789ab", or "reservation NAME".
[[nodiscard]] std::string requester_text(const std::string& waiter);

enum class News { kNone, kSome };

// Waits for changes of the ledger by other processes.
class LedgerWatch {
 public:
  static base::Result<LedgerWatch> start(const Env& env);
  // Sleeps until another process changes the ledger, LONGEST has passed or DEADLINE is reached.
  // Fails with the error of env.still_wanted, if it has one.
  base::Status wait(std::chrono::milliseconds longest, const base::Deadline& deadline);
  // Returns whether another process has changed the ledger since start(), or since the last change
  // that this object reported.
  base::Result<News> look();

 private:
  LedgerWatch(const Env& env, int64_t version) : env_(env), version_(version) {}
  const Env& env_;
  int64_t version_;
};

// The turn of one request. The request whose turn it is may take what is left of the resource.
// Those behind it wait until the turn is over, or until they can have IPUs for which the first does
// not wait (backfill). So a small request never delays a large one.
class Turn {
 public:
  // Returns at once if no request waits, or if this one may pass those that do. Otherwise queues
  // until then, or until this request is first, or fails with kBusy at PATIENCE, saying what is
  // ahead. Fails with kBusy at once if the request does not wait, or if the queue is full.
  static base::Result<Turn> await(Env& env, WaitFor what, const base::Deadline& patience);

  // Takes a place in the queue, if it has none yet, and waits until it is first or may pass: for a
  // request that finds nothing left. Pins IPUs for one that is first. Fails as await() does, and
  // with kBusy if somebody took its place away.
  base::Status join(const base::Deadline& patience);

  // Says that the request is for IPUS, which its tenant's share is compared with.
  base::Status resize(uint32_t ipus);

  // In a fleet: fails with kBusy while others are served first.
  base::Status check_first();
  // In a fleet: records that LEASE, or the reservation NAME by its PARTITION, has the IPUs, before
  // its controller is asked. Fails with kBusy while others are served first or its tenant has its
  // share, with kDenied if it never fits or the host was fenced, and while the store is silent.
  // Takes a warm partition of the fleet for the lease, if there is one of the KIND; none for a
  // reservation. Without a fleet, it fails as KIND does, and records nothing.
  base::Status claim(const ledger::Lease& lease, const KindOf& kind);
  base::Status claim(const std::string& name, const std::string& partition, const KindOf& kind);
  // Fails as claim() of the reservation would now, in a fleet, and records nothing.
  base::Status check_claim(const std::string& name, const std::string& partition);
  // Whether claims are recorded: hosts of a fleet share the resource.
  [[nodiscard]] bool is_in_fleet() const { return place_.has_value(); }
  // Returns the warm partition that the last claim took; empty: none.
  [[nodiscard]] std::string taken() const { return place_ ? place_->taken() : ""; }
  // Whether the last claim found that others are served first, or the tenant has its share.
  [[nodiscard]] bool is_behind() const { return is_behind_; }
  // Takes the claim back, unless it took a partition: the controller has made nothing.
  void unclaim();
  // Waits for what the next attempt may find: a change of the ledger that WATCH sees, or, in a
  // fleet, IPUs that a host gives back; LONGEST or somewhat more.
  base::Status wait_for_room(LedgerWatch& watch, std::chrono::milliseconds longest,
                             const base::Deadline& deadline);

  // The IPUs that are pinned for the request which this one may pass, and which it must not have
  // (PartitionRequest::pinned); unset: it is first.
  [[nodiscard]] const std::optional<vipu::Block>& pinned() const { return pinned_; }
  // Called when a request beside pinned() got nothing. If a V-IPU controller seems to have room, it
  // follows no names: from now on the request passes nobody, and waits until it is first.
  void got_nothing();
  // Called when a request has its IPUs, which another one may pin in the same moment. Fails with
  // kBusy if a block is pinned now of which the request did not know; it then gives its IPUs back,
  // and may try again with pinned(). After a success, a block that is pinned now was respected; one
  // that is pinned later finds the IPUs held.
  base::Status confirm();

  // Ends the turn of a request that has its IPUs; the next one is then first. Fails with kBusy if
  // somebody took its place away before: the request then gives its IPUs back, and gives up.
  base::Status finish();
  // Ends the turn of a request that gives up.
  void end();
  // Whether finish() has failed. The request never gets a place again.
  [[nodiscard]] bool is_cancelled() const { return is_cancelled_; }

  Turn(Turn&& other) noexcept
      : env_(other.env_),
        what_(std::move(other.what_)),
        ticket_(std::exchange(other.ticket_, 0)),
        place_(std::exchange(other.place_, std::nullopt)),
        own_pin_(other.own_pin_),
        pinned_(other.pinned_),
        is_cancelled_(other.is_cancelled_),
        passes_(other.passes_),
        is_over_limit_(other.is_over_limit_) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() { end(); }

 private:
  Turn(Env& env, WaitFor what) : env_(env), what_(std::move(what)) {}
  base::Status enter();
  base::Status enter_fleet();
  base::Status open_place();
  base::Status judge_claim(base::Result<Before> claimed);
  base::Status claim_or_pass(
      const std::function<base::Result<Before>(const std::optional<vipu::Block>& beside)>& claim);
  base::Status claim(const fleet::Grant& grant, const KindOf& kind);
  [[nodiscard]] fleet::Grant grant_of_reservation(const std::string& name,
                                                  const std::string& partition) const;
  [[nodiscard]] base::Error others_wait(const std::vector<ledger::Waiter>& ahead) const;
  base::Result<std::vector<ledger::Waiter>> ahead();
  base::Result<std::vector<ledger::Waiter>> ahead_in_fleet(base::Result<Before> looked);
  base::Result<std::vector<ledger::Waiter>> served_first(std::vector<ledger::Waiter> waiters);
  [[nodiscard]] ledger::Waiter as_waiter() const;
  bool may_pass(const ledger::Waiter& first);
  void pin();
  Env& env_;
  WaitFor what_;
  int64_t ticket_ = 0;                    // 0: it has no place in the queue
  std::optional<FleetPlace> place_ = {};  // the one that counts, where a fleet shares the resource
  std::optional<vipu::Block> own_pin_;    // what is pinned for this request
  std::optional<vipu::Block> pinned_;
  bool is_cancelled_ = false;
  bool is_behind_ = false;
  bool passes_ = true;          // see got_nothing()
  bool is_over_limit_ = false;  // of its tenant, when ahead() looked last
};

// Returns the waiters whose processes have not ended, in order of arrival.
base::Result<std::vector<ledger::Waiter>> living_waiters(Env& env);
// Does so too, and removes the others.
base::Result<std::vector<ledger::Waiter>> waiting(Env& env);

}  // namespace hook::lifecycle
