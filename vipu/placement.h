// SPDX-License-Identifier: Apache-2.0
// Placement of a partition in a pool: best-fit buddy over the IPUs in link order. Pure and
// deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "vipu/types.h"

namespace vipu {

inline constexpr uint32_t kIpusPerMachine = 4;
// IPUs in one IPU-Link domain: a POD64 is one domain, a POD128 two, a POD256 four.
inline constexpr uint32_t kIpusPerDomain = 64;

// The IPUs of a pool, numbered from 0 across its IPU-Link domains in sequence, in link order: an
// aligned power of two of consecutive IPUs of a domain is linked directly. Domains may have any
// sizes, also different ones.
class Topology {
 public:
  // Takes the domains' sizes, fewer than 2^32 IPUs in all. Readers of untrusted sizes must limit
  // them.
  explicit Topology(const std::vector<uint32_t>& domains);
  // Returns a POD of IPUS IPUs in domains of 64; the last domain may be smaller.
  static Topology of_pod(uint32_t ipus);

  [[nodiscard]] uint32_t ipus() const { return starts_.back(); }
  [[nodiscard]] uint32_t domains() const { return static_cast<uint32_t>(starts_.size() - 1); }
  [[nodiscard]] uint32_t first_of(uint32_t domain) const { return starts_[domain]; }
  [[nodiscard]] uint32_t size_of(uint32_t domain) const {
    return starts_[domain + 1] - starts_[domain];
  }
  // Returns nothing if there is no such IPU.
  [[nodiscard]] std::optional<uint32_t> number_of(const IpuPlace& place) const;
  [[nodiscard]] IpuPlace place_of(uint32_t number) const;  // NUMBER is below ipus()

 private:
  std::vector<uint32_t> starts_;  // one more entry than there are domains
};

// The holder of each IPU of a pool. Every NUMBER is below topology().ipus().
class Occupancy {
 public:
  // Starts with all IPUs free.
  explicit Occupancy(Topology topology);
  // Returns the pool as SURVEY shows it, held by the partitions' ids. IPUs outside its domains are
  // ignored.
  static Occupancy of(const Survey& survey);

  // Set the holder or the taint of an IPU; the last call counts. A tainted IPU may be held. An
  // empty HOLDER or REASON becomes "?", so that the IPU is not free.
  void hold(uint32_t number, const std::string& holder);
  void taint(uint32_t number, const std::string& reason);

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] bool is_free(uint32_t number) const;                  // neither held nor tainted
  [[nodiscard]] const std::string& holder_of(uint32_t number) const;  // empty: nobody
  [[nodiscard]] const std::string& taint_of(uint32_t number) const;   // empty: none
  [[nodiscard]] uint32_t free_ipus() const;

 private:
  Topology topology_;
  std::vector<std::string> holders_;
  std::vector<std::string> taints_;
};

// The partition to place: SIZE IPUs in SEGMENTS blocks of equal size, each from another domain.
// Both are powers of two. 0 segments means as few as the largest domain allows (one, up to its
// size), even if more segments would fit now.
struct Wanted {
  uint32_t size = 0;
  uint32_t segments = 0;
};

// Succeeds if a pool of this topology could ever hold WANTED. Returns kInvalid with the reason if
// not.
base::Status check_wanted(const Topology& topology, const Wanted& wanted);

// Returns free blocks for WANTED, one per segment, in order. Each is at the same place in its
// domain. The domains are consecutive, and the first is a multiple of their number. Returns nothing
// if there is no room, or if check_wanted() fails.
//
// Best fit keeps large blocks whole. place() chooses, of all possible places, one that is cut from
// free buddy blocks with the fewest IPUs in all, and of these the lowest. The free buddy block
// around an IPU is the largest Block without a held or tainted IPU. If it is the largest of its
// domain, it extends over an aligned power of two of domains, as long as their largest blocks have
// the same size and are all free.
[[nodiscard]] std::optional<std::vector<Block>> place(const Occupancy& occupancy,
                                                      const Wanted& wanted);

// Returns the largest size that place() can place with the fewest segments; 0 if no IPU is free.
[[nodiscard]] uint32_t largest_free(const Occupancy& occupancy);

// The reason why there is no room.
struct Shortage {
  uint32_t free = 0;          // free IPUs in the whole pool
  uint32_t largest_free = 0;  // see largest_free()
  uint32_t tainted = 0;       // tainted IPUs, held or not
  // The holders whose end makes room, in the order of their first IPUs there. Of all such sets,
  // this one holds the fewest IPUs in the whole pool, then has the lowest place. Empty if there is
  // room, or if tainted IPUs alone leave no place.
  std::vector<std::string> blockers = {};
};
[[nodiscard]] Shortage why_not(const Occupancy& occupancy, const Wanted& wanted);

// Returns one clause about a WANTED that passes check_wanted() and has no place: "no free block of
// 8 IPUs (largest free: 4, free in all: 6); there would be one without c-1a2b3c and p7". Names at
// most four blockers, and counts tainted IPUs if there are any.
[[nodiscard]] std::string to_text(const Shortage& shortage, const Wanted& wanted);

}  // namespace vipu
