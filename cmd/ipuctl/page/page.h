// SPDX-License-Identifier: Apache-2.0
// The report as one HTML page: what it shows, as data, and its text. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ipuctl::page {

// What an IPU is now. No IPU has two states; a taint stands beside it.
enum class State {
  kFree,
  kHeld,       // a container has it
  kReserved,   // a reservation, whose containers have not come
  kKept,       // a named partition that no container has
  kWarm,       // a partition that waits for any container
  kDirty,      // it is being given back, or must be reset
  kOther,      // a partition that neither this host nor its fleet knows
  kUnhealthy,  // tainted, and nobody has it
  kDrained,    // free, but its host is drained
};

struct Ipu {
  State state = State::kFree;
  std::string tenant = {};     // of kHeld and kReserved; empty: none
  std::string partition = {};  // empty: none
  std::string who = {};        // a container or a reservation; empty: nobody, or not known
  std::string taint = {};      // why no further partition gets it; empty: none
  bool operator==(const Ipu&) const = default;
};

// IPUs that are linked directly, in link order.
struct Domain {
  std::string title;  // "IPU-Link domain 0"
  std::vector<Ipu> ipus;
};

struct Pool {
  std::string name;
  std::string source = {};
  std::vector<Domain> domains = {};
  uint32_t largest_free = 0;  // the largest request that fits now
  std::string trouble = {};   // why there is no map; empty: there is one
};

// The mean of a day, in IPUs.
struct Room {
  double free = 0;
  double largest = 0;  // the largest request that had fitted
};

struct Day {
  std::string date;       // "2026-11-26", UTC
  bool is_known = false;  // something was recorded on it
  std::optional<double> used =
      {};  // part of all IPUs that were held; unset: their number is unknown
  std::optional<double> busy = {};  // part of the measured time; unset: no monitor measured
  int64_t starts = 0;               // that got IPUs, and waited for so long:
  int64_t median_wait_ms = 0;
  int64_t longest_wait_ms = 0;
  int64_t refused = 0;
  std::map<std::string, Room> rooms = {};  // by pool; only those that were looked at
};

// A request in the queue.
struct Waiting {
  size_t position = 0;  // from 1, in the queue of RESOURCE
  size_t length = 0;
  std::string resource;  // a pool, or "POOL/PARTITION"
  std::string who;
  std::string tenant = {};
  uint32_t ipus = 0;  // 0: not known
  std::string since = {};
  std::string until = {};
  std::string reason = {};
};

struct Refusal {
  std::string name;   // of the tenant, user, pool or host
  std::string cause;  // empty: causes of which there were too many
  int64_t count = 0;
};

// Who has IPUs now: a container or a reservation.
struct Holding {
  std::string who;
  std::string id = {};    // of the container; empty: it is a reservation
  std::string host = {};  // empty: this one
  std::string tenant = {};
  std::string pool = {};
  std::string partition = {};
  uint32_t ipus = 0;
  std::string state = {};
  std::string since = {};
  std::string until = {};  // of a reservation
};

// Cells as `ipuctl report` prints them.
struct Sums {
  std::vector<std::string> headings = {};
  std::vector<std::vector<std::string>> rows = {};
};

struct Page {
  std::string by = "tenant";  // what NAME of a refusal and the first column of SUMS are
  std::string from;           // RFC 3339
  std::string until;          // likewise; nothing else on the page depends on when it was made
  std::string host = {};      // tag of this host in its fleet; empty: it is in none
  std::string drained = {};   // why, with the time, if this host is drained
  std::optional<int64_t> ipus = {};  // of all pools; unset: not known
  std::optional<double> used = {};   // part of them that was held from FROM to UNTIL
  std::optional<double> busy = {};
  int64_t starts = 0;
  int64_t median_wait_ms = 0;
  int64_t longest_wait_ms = 0;
  std::vector<std::string> troubles = {};  // what the page is without, and why
  std::vector<Pool> pools = {};
  std::vector<Day> days = {};  // oldest first
  std::vector<Waiting> queue = {};
  std::vector<Refusal> refusals = {};
  std::vector<Holding> holdings = {};
  Sums sums = {};
  std::vector<std::string> hosts = {};  // until when each host of the fleet has told
};

// The part of the time in which sites are said to use accelerators that they do not share.
inline constexpr double kBaselineFrom = 0.25;
inline constexpr double kBaselineTo = 0.30;
// What a name has beyond so many bytes is cut.
inline constexpr size_t kMostOfText = 1000;

// Returns PAGE as one HTML file that loads nothing and whose own style and script alone a browser
// runs. Every text of PAGE may be hostile: it is shown as text.
[[nodiscard]] std::string to_html(const Page& page);

}  // namespace ipuctl::page
