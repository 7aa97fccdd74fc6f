// SPDX-License-Identifier: Apache-2.0
// Filters of what leaves and what arrives at an interface: eBPF programs on the queueing discipline
// clsact (tc-bpf(8), Linux 4.5), each found again by its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "netns/internal/nl.h"

namespace netns::tc {

enum class Direction { kEgress, kIngress };
inline constexpr Direction kDirections[] = {Direction::kEgress, Direction::kIngress};

// The place of our filter: before those of others, and with a handle of our own ("ipu").
inline constexpr uint16_t kPriority = 1;
inline constexpr uint32_t kHandle = 0x697075;

struct Filter {
  uint32_t interface;
  Direction direction;
  uint16_t priority;
  uint32_t handle;
  std::string kind;      // "bpf", "u32", ...
  std::string name;      // empty unless it is an eBPF program
  uint32_t program = 0;  // its number
};

// A queueing discipline that holds filters.
struct Qdisc {
  uint32_t interface;
  bool is_clsact;       // or else "ingress", which has no egress
  bool shares_filters;  // with other interfaces, by a block (tc(8))
};

// Return the clsacts and ingresses of the namespace, and the filters of one clsact: all, or those
// that decide first, with our priority in chain 0. An absent interface or clsact has no filters.
enum class Which { kAll, kFirst };
base::Result<std::vector<Qdisc>> find_qdiscs(nl::Socket& socket);
base::Result<std::vector<Filter>> find_filters(nl::Socket& socket, uint32_t interface,
                                               Direction direction, Which which);

// Makes a clsact on the interface, unless it has one, or a qdisc 'ingress', which excludes it.
// Returns kUnsupported if the kernel has none.
base::Status make_clsact(nl::Socket& socket, uint32_t interface);
// Puts PROGRAM, which decides directly, at our place; at once, if a filter is there.
base::Status put_filter(nl::Socket& socket, uint32_t interface, Direction direction,
                        const base::Fd& program, const std::string& name);
// Remove the filter at our place, and the clsact. An absent one is not an error.
base::Result<base::Removed> remove_filter(nl::Socket& socket, uint32_t interface,
                                          Direction direction);
base::Result<base::Removed> remove_clsact(nl::Socket& socket, uint32_t interface);

// An action of tc that sends frames, or copies of them, out of an interface.
struct Redirect {
  uint32_t number;
  uint32_t interface;
};
// Returns those of the namespace. An eBPF program that redirects is none of them.
base::Result<std::vector<Redirect>> find_redirects(nl::Socket& socket);

}  // namespace netns::tc
