// SPDX-License-Identifier: Apache-2.0
// What the plugin does in a task before its program, as lines of words with tabs between:
//   network PID INODE             enter the network namespace of this process, if it has this inode
//   sysfs                         mount /sys anew, as this network namespace has it
//   bind|rbind|read SOURCE PLACE  mount a file or a folder; read: read-only
//   unset NAME|PREFIX*            take the variable, or all with the prefix, from the environment
//   env NAME=VALUE
//   drop NUMBER                   take this capability from all programs of the task, also from
//                                 those that give one to their user
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/ipu-slurm/job/bundle.h"

namespace slurm {

// What a host has.
struct HostFacts {
  bool has_rdma = false;           // it has a folder /dev/infiniband
  std::vector<std::string> cards;  // the paths of the nodes of all cards
  std::string resolver;            // what replaces /etc/resolv.conf; empty: nothing has to
};

struct Network {
  pid_t pid = 0;
  uint64_t inode = 0;
};

// Returns the orders for ENTRY. SCRATCH is a folder with an empty file for each RDMA device of
// ENTRY, named as it: it hides the others.
[[nodiscard]] std::string orders(const Entry& entry, const Network& network, const HostFacts& host,
                                 const std::string& scratch);

// Returns the orders for a task that stays in the host's network, and gets no IPUs: SCRATCH is an
// empty folder.
[[nodiscard]] std::string orders_outside(const HostFacts& host, const std::string& scratch);

// Returns whether a node of a card has the NAME: ipu0, and what the driver makes beside it, such as
// ipu0_mem.
[[nodiscard]] bool is_card(std::string_view name);

// Returns the names of the files that SCRATCH has to have.
[[nodiscard]] std::vector<std::string> rdma_names(const Entry& entry);

}  // namespace slurm
