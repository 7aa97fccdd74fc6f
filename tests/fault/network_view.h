// SPDX-License-Identifier: Apache-2.0
// What a network namespace holds, asked of the kernel without the product's code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fault {

struct LinkView {
  std::string name;
  std::string mac;  // "02:..."
  bool up = false;
};

// The links of the network namespace behind the descriptor NETNS.
base::Result<std::vector<LinkView>> read_links(int netns);

// Links, addresses, routes and nftables of the namespace, one line each: equal texts mean that
// nothing of it has changed.
base::Result<std::string> dump_network(int netns);

}  // namespace fault
