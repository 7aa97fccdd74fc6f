// SPDX-License-Identifier: Apache-2.0
// The provider 'pcie': groups of IPU cards in this host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vipu/controller.h"
#include "vipu/health.h"

namespace vipu {

struct PcieOptions {
  std::string pool;        // its name, for errors
  std::string state_file;  // see local::PartitionStore
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  // Groups of linked cards, each by the N of /dev/ipuN, in link order. Empty: all cards are one
  // group in the order of N, where a missing N keeps its place.
  std::vector<std::vector<uint32_t>> groups = {};
  // The N of cards that are never given to a partition. Cards outside the pool have no effect.
  std::vector<uint32_t> taints = {};
  std::vector<BadIpu> bad = {};  // more of them, by name
};

// Makes a controller of cards. Each group is a domain; a card in no group is not in the pool. A
// place is a group and the card's position in it. Only requests name cards by N: place.ipu is N,
// and place.domain is ignored. A partition is granted its cards in link order; its only GCD is 0.
//
// Each call looks for the cards (see local::read_cards). The PCI address identifies a card. Returns
// kInvalid if a card is in two groups or a group is empty. The agents of attributes() are "group0",
// "group1" ...
std::unique_ptr<Controller> make_pcie_controller(PcieOptions options);

}  // namespace vipu
