// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/logical_ids.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"

namespace front {

std::vector<std::vector<uint32_t>> logical_devices(std::vector<uint32_t> cards,
                                                   std::vector<std::vector<uint32_t>> groups) {
  std::sort(cards.begin(), cards.end());
  std::vector<std::vector<uint32_t>> devices;
  for (const uint32_t card : cards) devices.push_back({card});
  if (groups.empty()) groups = {std::move(cards)};
  for (size_t size = 2; size <= devices.size(); size *= 2) {
    for (const std::vector<uint32_t>& group : groups) {
      for (size_t first = 0; first + size <= group.size(); first += size) {
        const auto begin = group.begin() + static_cast<std::ptrdiff_t>(first);
        devices.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
      }
    }
  }
  return devices;
}

base::Result<std::vector<uint32_t>> cards_of_ids(const std::vector<std::vector<uint32_t>>& devices,
                                                 const std::vector<uint32_t>& ids) {
  std::set<uint32_t> cards;
  for (const uint32_t id : ids) {
    if (id >= devices.size()) {
      return base::Error(base::Code::kInvalid,
                         base::str("--device-id ", id,
                                   " does not exist on this host: give a number"
                                   " from 0 to ",
                                   devices.size() - 1));
    }
    cards.insert(devices[id].begin(), devices[id].end());
  }
  return std::vector<uint32_t>(cards.begin(), cards.end());
}

}  // namespace front
