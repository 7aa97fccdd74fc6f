// SPDX-License-Identifier: Apache-2.0
// Reservations: named partitions that are made before a container needs them, and that end by
// themselves. Whoever reserves waits, so that no start has to.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/container/request/request.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

struct ReservationRequest {
  std::string name;
  uint32_t ipus = 0;
  std::chrono::milliseconds wait{0};  // for IPUs; 0: fails at once
  std::chrono::milliseconds time{0};  // from when it is ready; 0: it does not end by itself
  std::string owner;                  // whoever it is for; may be empty
  uint32_t gcds = 1;
  int64_t user = -1;           // uid of who reserves; -1: unknown
  uint32_t most = UINT32_MAX;  // IPUs that all reservations of this user may have
  std::string tenant = {};     // to which it counts; empty: none
};

// Checks what can be asked of no pool at all. Fails with kInvalid, naming the option of `ipuctl
// reserve`.
base::Status check_reservation(const ReservationRequest& wanted);

// The name by which a reservation stands in the queue: "reservation NAME".
[[nodiscard]] std::string waiter_of(const std::string& reservation);

// Makes a partition of POOL, ACTIVE, and records it as a reservation. Waits its turn in the queue
// of the pool, among the containers. Fails with kBusy if there is no room, kExists if the name is
// taken, kDenied if the user would have too many IPUs or the tenant may not reserve, kInvalid if
// the pool can never serve the request, and with the error of Env::still_wanted. After an error
// nothing is left, or reconcile() removes the rest.
base::Status reserve(Env& env, const config::Config& config, const config::PoolConfig& pool,
                     const ReservationRequest& wanted);

// Returns REQUEST with the pool and the partition of its reservation, if it names one. Fails with
// kNotFound if there is no such reservation, kBusy if it is still being made. The ledger refuses a
// lease of one that has ended.
base::Result<request::Request> resolve_reservation(Env& env, const request::Request& request);

// Whoever waits for a reservation.
struct Asker {
  std::string container;
  std::string bundle;
};

// Does the same, but a request with IPU_WAIT waits for a reservation that is being made, with a
// place in the queue. What is left of its time is the wait of the request that it returns.
base::Result<request::Request> await_reservation(Env& env, const config::Config& config,
                                                 const request::Request& request,
                                                 const Asker& asker);

}  // namespace hook::lifecycle::start
