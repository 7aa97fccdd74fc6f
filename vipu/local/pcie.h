// SPDX-License-Identifier: Apache-2.0
// The provider 'pcie': groups of the IPU cards in this host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vipu/controller.h"

namespace vipu {

struct PcieOptions {
  std::string pool;        // its name, for errors
  std::string state_file;  // see local::Store
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  // Cards, by the N of /dev/ipuN, that are linked to each other, in link order. Empty: all cards
  // are one group in the order of N, in which a missing N keeps its place.
  std::vector<std::vector<uint32_t>> groups = {};
  // Cards that are never given away, by N. Without effect if they are not in the pool.
  std::vector<uint32_t> taints = {};
};

// Each group is a domain; a card in no group is not in the pool. A place is a group and the card's
// position in it; only in a request are cards named by N: place.ipu is N, and place.domain is not
// looked at. A partition is granted its cards in link order, and no GCD but number 0.
//
// The cards are looked for at each call (see local::read_cards). A card is the same as long as it
// has the same PCI address. kInvalid if a card is in two groups or a group is empty. The agents of
// attributes() are "group0", "group1" ...
std::unique_ptr<Controller> make_pcie_controller(PcieOptions options);

}  // namespace vipu
