// SPDX-License-Identifier: Apache-2.0
// How busy IPUs are, as a program of the site prints it. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace vipu {

// The busy part of each IPU, from 0 to 1, by its name: "10.5.1.1:3", "0000:35:00.0".
using BusyParts = std::map<std::string, double>;

// Reads what a monitor printed:
// - {"ipus":[{"ipu":"10.5.1.1:3","busy":0.5}]}. Nothing is known of an IPU that it does not name.
// - what `gc-inventory -j` prints of cards: each device with a "pci id" and an "ipu utilisation",
//   such as "12.50%". Devices without a "pci id" are those of a fabric, and say nothing of where
//   they are.
// Returns kInvalid for anything else, also if it names an IPU twice. What `gc-monitor -j` prints
// has no utilisation.
base::Result<BusyParts> parse_busy(std::string_view text);

}  // namespace vipu
