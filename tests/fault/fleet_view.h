// SPDX-License-Identifier: Apache-2.0
// What the fleet's etcd says, read with etcdctl and not by the product's code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace fault {

// A host that is in no ledger of this host.
inline constexpr const char* kDeadHost = "1f2e3d4c";

// A partition that an operator named.
struct FleetPartition {
  std::string phase;
  bool dirty = false;   // it is reset before another container has it
  bool shared = false;  // a GCD may have several containers
};

struct FleetClaim {
  std::string partition;
  std::string id;
  std::string host;  // tag
  std::string container;
  uint32_t gcd = 0;
  uint32_t gcds = 0;
  bool uses = false;      // no reset comes first
  bool is_reset = false;  // it is a process's, which resets all of the partition
};

// Who has IPUs of the pool.
struct FleetGrant {
  std::string id;         // of a reservation: its partition
  std::string host;       // tag
  std::string container;  // empty: it is a reservation
  std::string partition;  // which it took of the warm ones; empty: none
  std::string tenant;
  uint32_t ipus = 0;
};

struct FleetView {
  bool is_open = false;             // hosts may claim: a fleet is there, and no import goes on
  bool is_imported = false;         // an import has begun and not ended
  std::vector<std::string> untold;  // tags of hosts that have not told since an import
  std::map<std::string, FleetPartition> partitions;
  std::vector<FleetClaim> claims;
  std::map<std::string, std::string> warm;  // name to phase
  std::vector<FleetGrant> grants;
  std::map<std::string, std::string> tenants;  // name to share, a JSON object
  std::vector<std::string> waiting;            // the containers, and reservations
  std::vector<std::string> fenced;             // tags of hosts
  std::vector<std::string> alive;
  std::vector<std::string> strange;  // keys that are of no kind

  [[nodiscard]] const FleetPartition* find(const std::string& name) const;
  // The claim ID; null: none.
  [[nodiscard]] const FleetClaim* claim(const std::string& id) const;
};

base::Result<FleetView> read_fleet();
// Removes all keys below the fleet's prefix.
base::Status clear_fleet();
// Changes a key below the prefix, as no program of the product does.
base::Status plant_key(const std::string& key, const std::string& value);
base::Status remove_key(const std::string& key);
// As if host kDeadHost had beaten once, and had claimed GCD 0 of PARTITION.
base::Status put_dead_host(const std::string& partition);

}  // namespace fault
