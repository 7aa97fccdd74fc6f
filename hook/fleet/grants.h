// SPDX-License-Identifier: Apache-2.0
// Who has IPUs of the pools that hosts of a fleet share, and what tenants may have of them.
//   PREFIX grants/POOL/ID   IPUs that a lease or a reservation has, or asks its controller for
//   PREFIX tenants/NAME     a tenant's share, over all pools of the fleet
//   PREFIX turns/NAME       changes with each grant to that tenant, and each claim of its GCDs
// A grant comes before its partition is made, and goes after the partition is removed. It does not
// end with time: whoever made it removes it, or a fence. There is no counter: what a tenant has is
// the sum of its grants, and of its claims of named partitions (partitions.h). A grant that names a
// partition is the only record of whose that is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/tenant.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/queue.h"
#include "hook/fleet/store.h"
#include "hook/fleet/warm.h"

namespace hook::fleet {

struct Grant {
  std::string pool;
  std::string id;              // of the lease, or the partition of a reservation
  std::string host;            // tag
  std::string container;       // its id at the engine; empty: it is a reservation
  std::string reservation;     // its name; empty: it is a lease
  std::string tenant;          // empty: none
  std::string partition = {};  // that it took of the fleet's warm ones; empty: none
  uint32_t ipus = 0;
  int64_t since_ms = 0;     // unix time of its host
  std::string source = {};  // the controller of such a partition: see config::source_of()
  bool operator==(const Grant&) const = default;
};

// What tenants may have, and what they have, as of one look.
struct Shares {
  std::vector<config::TenantConfig> tenants;    // by name; their users are for each host to say
  std::vector<Grant> grants;                    // of all pools, oldest first; empty without tenants
  std::vector<PartitionView> partitions;        // with their claims; empty without tenants
  std::map<std::string, int64_t> records;       // revision of each tenant's share
  int64_t revision = 0;                         // of the store, when these were read
  std::map<std::string, int64_t> turns;         // revision of each tenant's last grant
  std::vector<std::string> unknown_walls = {};  // tenants whose allocation cannot be read
  // Keys of records that cannot be read, by the tenant whose share or use they say; empty: it
  // cannot be told whose.
  std::multimap<std::string, std::string> unreadable = {};
  // IPUs of grants that cannot be read, not even whose they are: they may be of each tenant.
  uint32_t unowned = 0;
};

// Makes a grant if nobody waits for RESOURCE, and no tenant has a share: one round trip. Returns
// whether it did. If not: look at the queue and the shares. Fails with kDenied if the host was
// fenced. Harmless twice; a grant of the same id with another partition stays, as find_grant()
// says. With WARM, whose name is GRANT's partition, it takes that one if it is still as it was
// read.
base::Result<bool> grant_at_once(const Fleet& fleet, const Resource& resource, const Grant& grant,
                                 const Warm* warm = nullptr);
// Makes a grant if TICKET, which may be null, is as it was read, so nobody has cancelled it, and
// take_turn() holds for its tenant. Returns whether it did. WARM: as above.
base::Result<bool> grant_as_seen(const Fleet& fleet, const Resource& resource, const Grant& grant,
                                 const Ticket* ticket, const Shares& shares,
                                 const Warm* warm = nullptr);
// Adds to TXN that nothing was granted to TENANT, and it claimed nothing, since SHARES were read,
// that no tenant's share was changed, whose allocations are walls for all; and that it gets
// something by ID now.
void take_turn(const Fleet& fleet, const Shares& shares, const std::string& tenant,
               const std::string& id, Txn& txn);
// Makes the grant of what runs already. It replaces one that cannot be read, or that lacks GRANT's
// partition: an older copy of the store may have it so. What such a copy says of the partition
// goes.
base::Status grant_again(const Fleet& fleet, const Grant& grant);
// Removes a grant. One that is not there is no error. Returns the store's revision.
base::Result<int64_t> ungrant(const Fleet& fleet, const std::string& pool, const std::string& id);
// Removes those of HOST, which was fenced. A grant that names a partition is the only record of
// whose that is, and may stay.
base::Status remove_grants_of(const Fleet& fleet, const std::string& host, Leaves leaves);
base::Result<std::optional<Grant>> find_grant(const Fleet& fleet, const std::string& pool,
                                              const std::string& id);
// Returns all grants, oldest first. What cannot be read is in OBSTACLES.
base::Result<std::vector<Grant>> list_grants(const Fleet& fleet,
                                             std::vector<base::Error>& obstacles);

// Returns what tenants may have. Without tenants, it reads no grants and no partitions. A
// record that cannot be read is left out, and what depends on it is refused: see
// Shares::unreadable.
base::Result<Shares> read_shares(const Fleet& fleet);
// Returns the shares alone: no grants, turns or partitions.
base::Result<Shares> read_tenants(const Fleet& fleet);
// A tenant's share at one revision of its record.
struct SeenTenant {
  config::TenantConfig share;
  int64_t revision = 0;  // 0: there is no record, and the share has its name and defaults alone
};
base::Result<SeenTenant> find_tenant(const Fleet& fleet, const std::string& name);
// Records or replaces a tenant's share, if its record is still of the revision SEEN. Returns
// whether it did. Joins the fleet first if no host has.
base::Result<bool> set_tenant(const Fleet& fleet, const config::TenantConfig& tenant, int64_t seen);
// Removes a tenant's share. Returns whether there was one. What it has stays.
base::Result<bool> remove_tenant(const Fleet& fleet, const std::string& name);

// Returns the prefix of all grants.
[[nodiscard]] std::string grants_prefix(const std::string& prefix);

}  // namespace hook::fleet
