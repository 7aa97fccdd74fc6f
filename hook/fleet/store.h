// SPDX-License-Identifier: Apache-2.0
// Store: what hosts share. Each call ends by its deadline. What a key means is for the caller.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "hook/config/fleet.h"
#include "hook/fleet/wire/values.h"

namespace hook::fleet {

// Every error is one line that names the store and says what to do. Codes: kUnavailable and
// kTimeout mean that the store cannot be reached or has no quorum; kBusy that it is full; kDenied
// that it, or this host, does not allow it; kInvalid that it is not such a store.
class Store {
 public:
  virtual ~Store() = default;
  // Carries TXN out, or returns what is in the way. kTimeout: it may have been carried out.
  virtual base::Result<TxnResult> commit(const Txn& txn, const base::Deadline& deadline) = 0;
  // Returns all keys below PREFIX, as of one revision. Fails with kUnsupported if they have more
  // than kMaxListing bytes.
  virtual base::Result<Listing> list(const std::string& prefix, const base::Deadline& deadline) = 0;
  // Waits for changes below PREFIX from REVISION on (a listing's revision + 1, or Changes::next).
  // Returns none if none came by DEADLINE; kNotFound if the store has forgotten that revision:
  // list again.
  virtual base::Result<Changes> wait(const std::string& prefix, int64_t revision,
                                     const base::Deadline& deadline) = 0;
  // Returns a lease that ends TTL_S seconds after it was last kept.
  virtual base::Result<Lease> grant(uint32_t ttl_s, const base::Deadline& deadline) = 0;
  // Begins the lease's time again. Returns kNotFound if it has ended.
  virtual base::Result<Lease> keep(int64_t lease, const base::Deadline& deadline) = 0;
  // Ends a lease: its keys are gone. One that has ended is no error.
  virtual base::Status revoke(int64_t lease, const base::Deadline& deadline) = 0;
  // Returns how each endpoint is.
  virtual base::Result<std::vector<Member>> members(const base::Deadline& deadline) = 0;
};

struct ProcessStoreOptions {
  std::string program;  // absolute path of ipu-fleet-client
  config::FleetConfig fleet;
  std::optional<base::Credentials> credentials = {};  // user that runs it; unset: the caller
  // Whether the program may hold a password or a key: success, or the error of each call that needs
  // them.
  base::Status may_hold_secrets = {};
};

// Makes a store that runs the program once for each call. Each call rereads the files of the
// configuration, with the rights of the caller. No error contains their secrets. A call asks the
// endpoints in their order, from the one on that served the last call of this process.
std::unique_ptr<Store> make_process_store(ProcessStoreOptions options);

}  // namespace hook::fleet
