// SPDX-License-Identifier: Apache-2.0
// What the rules on frames are about, whoever carries them out.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace netns {

// Bytes of a frame, from the start of its Ethernet header. A VLAN tag counts, also one that the
// hardware would add.
struct Field {
  uint32_t offset;
  uint32_t size;
};

// A key in a set, and a comment for readers. In a set of ranges, a key is where a range begins, or
// the first one after it.
struct Element {
  std::vector<uint8_t> key;
  std::string comment = {};
  bool ends_range = false;
  auto operator<=>(const Element&) const = default;
};

}  // namespace netns
