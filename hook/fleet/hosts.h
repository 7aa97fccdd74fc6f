// SPDX-License-Identifier: Apache-2.0
// What a fleet's store says of itself and of its hosts.
//   PREFIX meta        the store's version and the fleet's id; made by the first host
//   PREFIX meta/v1/ID  is there while the store is of version 1, and the fleet's is ID
//   PREFIX hosts/TAG   what host TAG says of itself; stays until somebody removes it
//   PREFIX fences/TAG  the host was declared dead
//   PREFIX alive/TAG   is there while the host is heard of: under a lease of kAliveTime
//   PREFIX alive/TAG/twin  likewise, while another host that has the same tag is heard of
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/fleet/store.h"

namespace hook::fleet {

// A store of a newer version is not used.
inline constexpr int64_t kStoreVersion = 1;
// A host that was not heard of for so long is suspect. It beats three times as often.
inline constexpr std::chrono::seconds kAliveTime{30};
inline constexpr std::chrono::seconds kBeatTime{10};
inline constexpr size_t kMostPools = 64;

// Returns the id of the fleet below PREFIX, 16 hexadecimal digits. Makes it if there is nothing
// below PREFIX. Returns kUnsupported if the store is of a newer version, and kInvalid if something
// else is below PREFIX, or if PREFIX is inside of that of another fleet.
base::Result<std::string> join_fleet(Store& store, const std::string& prefix,
                                     const base::Deadline& deadline);
// Adds to TXN, which makes a fleet below PREFIX, that there is none around it: its hosts would take
// the keys of this one for their own, and remove them with theirs. kInvalid if there is one. A user
// of etcd may be kept from keys outside of its prefix: it cannot look.
base::Status require_no_fleet_around(Store& store, const std::string& prefix, Txn& txn,
                                     const base::Deadline& deadline);
// Returns whether KEY is the record PREFIX meta of some fleet, of any version.
[[nodiscard]] bool is_fleet_meta(const KeyValue& key);
// Returns kNotFound, with what to do: below PREFIX is fleet NOW, or none if that is empty, and not
// KNOWN, which this host has joined.
[[nodiscard]] base::Error fleet_is_gone(const std::string& known, const std::string& prefix,
                                        const std::string& now);
// Does so without making any; kNotFound if no host has joined.
base::Result<std::string> read_fleet_id(Store& store, const std::string& prefix,
                                        const base::Deadline& deadline);

// A host, as it says itself.
struct HostFacts {
  std::string tag;       // the 8 hexadecimal digits in the names of its partitions
  std::string name;      // host name
  std::string identity;  // digests of what identifies it (ledger/host.h)
  std::string version;   // of the product
  std::string boot;      // boot id
  // Pools with a V-IPU controller: its address by the pool's name. At most kMostPools.
  std::map<std::string, std::string> pools = {};
  bool operator==(const HostFacts&) const = default;
};

struct HostState {
  HostFacts host;
  bool is_alive = false;   // no: suspect. That alone says nothing of its containers
  int64_t since_ms = 0;    // since when it is alive without a break, by its own clock
  int64_t seen_ms = 0;     // its clock at its last beat
  bool is_fenced = false;  // some host declared it dead: see fence() in partitions.h
  int64_t modified = 0;    // revision of its last beat
};

// Says that ME is alive at NOW_MS (ms since 1970). Returns kExists if another host has the same
// tag, having said that a twin of it is alive: that counts as the tag's life; kDenied, having said
// so, if this host was declared dead meanwhile.
base::Status beat(Store& store, const std::string& prefix, const HostFacts& me, int64_t now_ms,
                  const base::Deadline& deadline);

// That a host was declared dead.
struct FenceFacts {
  int64_t revision = 0;      // at which it was made
  std::string by;            // tag of the host that did it; empty: of a release before it said so
  std::string host = {};     // tag of the host that is dead
  int64_t modified = 0;      // revision of the last attempt
  bool is_finished = false;  // the host has nothing at the controllers and in the store any more
};
// Returns the fence of HOST, if there is one.
base::Result<std::optional<FenceFacts>> find_fence(Store& store, const std::string& prefix,
                                                   const std::string& host,
                                                   const base::Deadline& deadline);

// Fails with kDenied, and says what to do, if HOST was declared dead.
base::Status check_fence(Store& store, const std::string& prefix, const std::string& host,
                         const base::Deadline& deadline);

// Waits until HOST is declared dead, or until DEADLINE, and returns whether it was. Returns at once
// if it is already.
base::Result<bool> wait_for_fence(Store& store, const std::string& prefix, const std::string& host,
                                  const base::Deadline& deadline);

// Returns all fences, by the hosts that are dead.
base::Result<std::vector<FenceFacts>> list_fences(Store& store, const std::string& prefix,
                                                  const base::Deadline& deadline);

// Returns whether the store has anything of HOST: that it beat, that it was fenced, or what a fence
// would remove.
base::Result<bool> knows_host(Store& store, const std::string& prefix, const std::string& host,
                              const base::Deadline& deadline);

// Returns all hosts that have ever beaten, by tag. Records that cannot be read are in OBSTACLES.
base::Result<std::vector<HostState>> list_hosts(Store& store, const std::string& prefix,
                                                const base::Deadline& deadline,
                                                std::vector<base::Error>& obstacles);
// Removes the record of HOST, unless the store hears of it.
base::Status forget_host(Store& store, const std::string& prefix, const std::string& host,
                         const base::Deadline& deadline);
// Removes what the store has of HOST's life, which has left: it is neither alive nor suspect, and
// nobody waits for it. Fails with kDenied if it was fenced meanwhile.
base::Status end_beats(Store& store, const std::string& prefix, const std::string& host,
                       const base::Deadline& deadline);
// Returns whether the store hears of HOST, or of another with its tag.
base::Result<bool> is_alive(Store& store, const std::string& prefix, const std::string& host,
                            const base::Deadline& deadline);

// Returns one line for each host whose clock differs from NOW_MS by more than a beat explains.
[[nodiscard]] std::vector<std::string> clock_troubles(const std::vector<HostState>& hosts,
                                                      int64_t now_ms);
// Returns one line for each host that is alive and calls a controller of ME, or a pool, otherwise
// than ME does: such hosts do not share their named partitions.
[[nodiscard]] std::vector<std::string> pool_troubles(const std::vector<HostState>& hosts,
                                                     const HostFacts& me);

}  // namespace hook::fleet
