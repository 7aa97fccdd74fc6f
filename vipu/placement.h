// SPDX-License-Identifier: Apache-2.0
// Where a partition fits in a pool. Pure and deterministic: best-fit buddy over the IPUs in the
// order of their links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "vipu/types.h"

namespace vipu {

inline constexpr uint32_t kIpusPerMachine = 4;
// IPUs of one IPU-Link domain: a POD64 is one domain, a POD128 is two, a POD256 four.
inline constexpr uint32_t kIpusPerDomain = 64;

// The IPUs of a pool, numbered from 0 over its IPU-Link domains one after the other, in link order:
// aligned powers of two of consecutive IPUs of a domain are linked directly. Domains may have any
// sizes, also different ones.
class Topology {
 public:
  // Domains of these sizes, fewer than 2^32 IPUs in all: who reads sizes from outside limits them.
  explicit Topology(const std::vector<uint32_t>& domains);
  // A POD of IPUS IPUs in domains of 64; the last one may be smaller.
  static Topology of_pod(uint32_t ipus);

  [[nodiscard]] uint32_t ipus() const { return starts_.back(); }
  [[nodiscard]] uint32_t domains() const { return static_cast<uint32_t>(starts_.size() - 1); }
  [[nodiscard]] uint32_t first_of(uint32_t domain) const { return starts_[domain]; }
  [[nodiscard]] uint32_t size_of(uint32_t domain) const {
    return starts_[domain + 1] - starts_[domain];
  }
  // Nothing if there is no such IPU.
  [[nodiscard]] std::optional<uint32_t> number_of(const IpuPlace& place) const;
  [[nodiscard]] IpuPlace place_of(uint32_t number) const;  // of a number below ipus()

 private:
  std::vector<uint32_t> starts_;  // one more than there are domains
};

// Who has each IPU of a pool. A NUMBER is one below topology().ipus().
class Occupancy {
 public:
  // All are free.
  explicit Occupancy(Topology topology);
  // The pool as SURVEY shows it, held by the partitions' ids. IPUs outside of its domains are
  // ignored.
  static Occupancy of(const Survey& survey);

  // The last one that holds an IPU, or taints it, counts. A tainted IPU may be held. An empty
  // HOLDER or REASON becomes "?": the IPU is not free.
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

// What is to be placed: SIZE IPUs in SEGMENTS blocks of equal size, from as many domains. Both are
// powers of two. 0 segments: as few as the largest domain allows, which is one up to its size, also
// where more of them would have room now.
struct Wanted {
  uint32_t size = 0;
  uint32_t segments = 0;
};

// Consecutive IPUs of one domain. Their number is a power of two, and the block starts, counted
// from the start of its domain, at a multiple of it.
struct Block {
  uint32_t first = 0;  // number in the pool
  uint32_t size = 0;
  bool operator==(const Block&) const = default;
};

// Whether a pool of this topology could ever hold WANTED; kInvalid with the reason if not.
base::Status check_wanted(const Topology& topology, const Wanted& wanted);

// Free blocks for WANTED, one a segment, in order: each at the same place in its domain, in
// consecutive domains of which the first is a multiple of their number. Nothing if there is no
// room, or if check_wanted() fails.
//
// Best fit, so that large blocks stay whole: of all places that would do, one where the free buddy
// blocks that it is cut from have the fewest IPUs in all; of these, the lowest. The free buddy
// block around an IPU is the largest Block without a held or tainted IPU. Where that is the largest
// one of its domain, it extends over an aligned power of two of domains as long as these have
// largest blocks of the same size, all free.
[[nodiscard]] std::optional<std::vector<Block>> place(const Occupancy& occupancy,
                                                      const Wanted& wanted);

// The largest size for which place() finds room with the fewest segments; 0 if no IPU is free.
[[nodiscard]] uint32_t largest_free(const Occupancy& occupancy);

// Why there is no room.
struct Shortage {
  uint32_t free = 0;          // IPUs, wherever they are
  uint32_t largest_free = 0;  // see largest_free()
  uint32_t tainted = 0;       // IPUs, held or not
  // The holders whose end makes room: of all sets that would do, one that holds the fewest IPUs in
  // the whole pool, then the one with the lowest place. In the order of their first IPUs there.
  // Empty if there is room, or if tainted IPUs alone leave no place.
  std::vector<std::string> blockers = {};
};
[[nodiscard]] Shortage why_not(const Occupancy& occupancy, const Wanted& wanted);

// One clause on a WANTED that passes check_wanted() and has no place: "no free block of 8 IPUs
// (largest free: 4, free in all: 6); there would be one without c-1a2b3c and p7". Names at most
// four blockers, and counts tainted IPUs if there are any.
[[nodiscard]] std::string to_text(const Shortage& shortage, const Wanted& wanted);

}  // namespace vipu
