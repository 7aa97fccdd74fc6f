// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"
#include "vipu/candidates.h"
#include "vipu/placement.h"

namespace vipu {
namespace {

using base::str;

constexpr size_t kMaxNamed = 4;
constexpr size_t kMaxNameLength = 80;

using Names = std::vector<std::string_view>;

// Returns how many IPUs each holder has.
std::map<std::string_view, uint32_t> holdings(const Occupancy& occupancy) {
  std::map<std::string_view, uint32_t> held;
  for (uint32_t number = 0; number < occupancy.topology().ipus(); ++number) {
    const std::string& holder = occupancy.holder_of(number);
    if (!holder.empty()) ++held[holder];
  }
  return held;
}

uint32_t tainted_ipus(const Occupancy& occupancy) {
  uint32_t tainted = 0;
  for (uint32_t number = 0; number < occupancy.topology().ipus(); ++number) {
    tainted += occupancy.taint_of(number).empty() ? 0U : 1U;
  }
  return tainted;
}

// Returns the holders of IPUs of these blocks, each once; nothing if one of the IPUs is tainted.
std::optional<Names> holders_in(const Occupancy& occupancy, const std::vector<Block>& blocks) {
  Names names;
  std::set<std::string_view> seen;
  for (const Block& block : blocks) {
    for (uint32_t number = block.first; number < block.first + block.size; ++number) {
      if (!occupancy.taint_of(number).empty()) return std::nullopt;
      const std::string& holder = occupancy.holder_of(number);
      if (!holder.empty() && seen.insert(holder).second) names.push_back(holder);
    }
  }
  return names;
}

Names cheapest_blockers(const Occupancy& occupancy, const Shape& shape) {
  const std::map<std::string_view, uint32_t> held = holdings(occupancy);
  const Topology& topology = occupancy.topology();
  std::optional<Names> best;
  uint32_t least = 0;
  for (const IpuPlace& candidate : candidates(topology, shape)) {
    std::optional<Names> names = holders_in(occupancy, blocks_at(topology, shape, candidate));
    if (!names.has_value()) continue;
    uint32_t cost = 0;
    for (const std::string_view name : *names) cost += held.at(name);
    if (best.has_value() && cost >= least) continue;
    best = std::move(names);
    least = cost;
  }
  return best.value_or(Names());
}

// Returns "a", "a and b", "a, b, c, d and 3 more".
std::string list_of(const std::vector<std::string>& names) {
  const size_t named = std::min(names.size(), kMaxNamed);
  std::vector<std::string> items;
  for (size_t i = 0; i < named; ++i) items.push_back(base::one_line(names[i], kMaxNameLength));
  if (named < names.size()) items.push_back(str(names.size() - named, " more"));
  const std::string last = items.back();
  items.pop_back();
  return items.empty() ? last : str(base::join(items, ", "), " and ", last);
}

}  // namespace

Shortage why_not(const Occupancy& occupancy, const Wanted& wanted) {
  Shortage shortage{.free = occupancy.free_ipus(),
                    .largest_free = largest_free(occupancy),
                    .tainted = tainted_ipus(occupancy)};
  const base::Result<Shape> shape = shape_of(occupancy.topology(), wanted);
  if (!shape.ok()) return shortage;
  const Names names = cheapest_blockers(occupancy, shape.value());
  shortage.blockers.assign(names.begin(), names.end());
  return shortage;
}

std::string to_text(const Shortage& shortage, const Wanted& wanted) {
  std::string text = str("no free block of ", wanted.size, wanted.size == 1 ? " IPU" : " IPUs");
  if (wanted.segments > 1) text += str(" in ", wanted.segments, " segments");
  text += str(" (largest free: ", shortage.largest_free, ", free in all: ", shortage.free);
  if (shortage.tainted > 0) text += str(", tainted: ", shortage.tainted);
  text += ")";
  if (shortage.blockers.empty()) return text + "; tainted IPUs leave no place for one";
  return text + str("; there would be one without ", list_of(shortage.blockers));
}

}  // namespace vipu
