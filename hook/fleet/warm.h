// SPDX-License-Identifier: Apache-2.0
// Partitions that the hosts of a fleet keep warm for containers of all of them.
//   PREFIX warm/POOL/NAME  such a partition while it is idle, or while a host makes or removes it
//   PREFIX warm/POOL/turn  changes with each one that a host begins to make
// A start takes one in the transaction that makes its grant (grants.h): the key goes, and the grant
// names the partition. So the store says at any time whose it is: the host's that makes or removes
// it, the host's of the grant, or nobody's while it is idle. Who made it does not count. It never
// becomes idle again. A copy of the store has none of these keys (copy.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/store.h"

namespace hook::fleet {

// Warm partitions that may stand in for each other.
struct WarmKind {
  std::string pool;
  std::string source;      // its controller, as the host's configuration has it
  std::string allocation;  // in which V-IPU made it; empty: any
  std::string cluster;     // likewise
  uint32_t ipus = 0;
  bool operator==(const WarmKind&) const = default;
};
[[nodiscard]] WarmKind warm_kind(const config::PoolConfig& pool, uint32_t ipus);

enum class WarmPhase { kMaking, kIdle, kRemoving };

struct Warm {
  WarmKind kind;
  std::string name;
  std::string maker;  // tag of the host that made it
  WarmPhase phase = WarmPhase::kMaking;
  std::string changer = {};  // tag of the host that makes or removes it; empty: it is idle
  int64_t since_ms = 0;      // unix time of its maker
  int64_t modified = 0;      // revision of its last change; not written
  bool operator==(const Warm&) const = default;
};

// Returns those of POOL, or of all pools if it is empty, oldest change first. A record that cannot
// be read is in OBSTACLES.
base::Result<std::vector<Warm>> list_warm(const Fleet& fleet, const std::string& pool,
                                          std::vector<base::Error>& obstacles);

// Claims a place for WARM, which its maker is about to make, unless the fleet has LIMIT of its kind
// already. Returns whether it did. Fails with kDenied if the maker was fenced. After kTimeout it
// may be recorded.
base::Result<bool> begin_warm(const Fleet& fleet, const Warm& warm, uint32_t limit);
// Says that WARM was made: a start on any host may take it. Fails with kBusy if its maker does not
// make it any more, with kDenied if the maker was fenced.
base::Status finish_warm(const Fleet& fleet, const Warm& warm);

// Whose a partition is that a host wants to remove.
enum class WarmFate {
  kOwn,     // this host's from here on: nobody takes it
  kTaken,   // that of the container with the given grant
  kOthers,  // another container's, which keeps it: the given grant is gone; or another host makes
            // it
  kNobody,  // the store does not know it: nobody made it, it is gone, or the store is an older copy
};
// Returns whose partition NAME of POOL is for host ME, whose container has the grant OWN, empty:
// none. It is ME's if it is idle, ME makes it, or a host removes it.
base::Result<WarmFate> warm_fate(const Fleet& fleet, const std::string& pool,
                                 const std::string& name, const std::string& me,
                                 const std::string& own = "");
// Has ME remove it, if it is ME's. A name is given once, so two that remove it do no harm. Fails
// with kDenied if ME was fenced or the store went back, with kBusy while a host has not told since
// (restored.h).
base::Result<WarmFate> begin_warm_removal(const Fleet& fleet, const std::string& pool,
                                          const std::string& name, const std::string& me,
                                          const std::string& own = "");
// Does so if WARM is still as it was read. Returns whether it is.
base::Result<bool> begin_warm_removal_as_seen(const Fleet& fleet, const Warm& warm,
                                              const std::string& me);
// Forgets a partition that is removed. One that is not there is no error.
base::Status forget_warm(const Fleet& fleet, const std::string& pool, const std::string& name);

// Returns the partitions that HOST makes or removes, and those that its containers took and no
// other host's, by pool and name.
base::Result<std::vector<PartitionName>> warm_of_host(const Fleet& fleet, const std::string& host);
// Forgets those that HOST, which was fenced, made or removed.
base::Status forget_warm_of_host(const Fleet& fleet, const std::string& host);

// Returns the prefix of these keys, and the key of one.
[[nodiscard]] std::string warm_prefix(const std::string& prefix);
[[nodiscard]] std::string warm_key(const std::string& prefix, const std::string& pool,
                                   const std::string& name);

}  // namespace hook::fleet
