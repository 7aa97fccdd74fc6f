// SPDX-License-Identifier: Apache-2.0
// The IPU cards in the PCIe slots of this host.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "vipu/types.h"

namespace vipu::local {

inline constexpr uint32_t kMaxCardNumber = 1023;

// Returns the cards that the driver has bound, by number. A card is a SYSFS/bus/pci/devices/ADDRESS
// with a file 'file_name', whose content is the N of DEV/ipuN, and with Graphcore's vendor id if
// there is a file 'vendor'. Its nodes are DEV/ipuN and each of DEV/ipuN_ex, _mem and _mailbox that
// is a character device (not a link to one), named as in a container, "/dev/ipuN"; none if DEV/ipuN
// is not a character device. Returns kUnavailable if there is no card, and kInvalid if two cards
// share a number or a number is malformed.
base::Result<std::vector<Card>> read_cards(const std::string& sysfs, const std::string& dev);

}  // namespace vipu::local
