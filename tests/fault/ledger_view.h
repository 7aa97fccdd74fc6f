// SPDX-License-Identifier: Apache-2.0
// What a copy of the ledger says, read with SQL of its own and not by the product's code.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fault {

struct LeaseRow {
  std::string id;
  std::string container;
  std::string partition;
  std::string state;
  std::string attachment;
  std::string error;
  bool live = false;  // neither FREE nor FAILED
  pid_t owner = 0;
  std::string claim;   // empty: the fleet knows nothing of it
  std::string origin;  // "OWN" for a partition of its own
};

struct AddressRow {
  std::string lease;  // the attachment
  std::string parent;
  std::string interface;
  std::string mac;
  bool held = false;
};

struct PartitionRow {
  std::string name;
  std::string kind;
  std::string state;
  std::string fleet;  // its prefix; empty: none
};

struct LedgerView {
  std::vector<LeaseRow> leases;
  std::vector<AddressRow> addresses;
  std::vector<PartitionRow> partitions;
  std::vector<std::string> endpoints;  // the pids of those of live leases
  size_t endpoint_rows = 0;
  std::vector<std::string> doubles;  // what two live leases hold
  size_t waiters = 0;
  size_t ipus_elsewhere = 0;  // see move_ipus()
  std::string integrity;      // "ok"

  [[nodiscard]] const LeaseRow* find(const std::string& id) const;
  // The newest lease of CONTAINER; null: none.
  [[nodiscard]] const LeaseRow* of_container(const std::string& container) const;
  // Whether the interface with MAC belongs to a live lease.
  [[nodiscard]] bool leads_to_mac(const std::string& mac) const;
  // Whether the partition NAME belongs to a live lease or has a row of its own.
  [[nodiscard]] bool leads_to_partition(const std::string& name) const;
};

// The ledger in the directory STATE_DIR, by a copy of its files without the index of the log, which
// SQLite makes anew as after a reboot. Nothing if there is no ledger, or one without tables yet.
base::Result<std::optional<LedgerView>> read_ledger(const std::string& state_dir,
                                                    const std::string& scratch);

// Every row of the lease ID, as text.
base::Result<std::string> dump_lease(const std::string& ledger, const std::string& id);

}  // namespace fault
