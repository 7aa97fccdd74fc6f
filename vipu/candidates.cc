// SPDX-License-Identifier: Apache-2.0
#include "vipu/candidates.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include "base/text.h"

namespace vipu {
namespace {

using base::str;

base::Error invalid(const std::string& message) { return {base::Code::kInvalid, message}; }

uint32_t largest_domain(const Topology& topology) {
  uint32_t largest = 0;
  for (uint32_t d = 0; d < topology.domains(); ++d) {
    largest = std::max(largest, topology.size_of(d));
  }
  return largest;
}

// Returns the size of the smallest of COUNT domains.
uint32_t common_size(const Topology& topology, uint32_t first, uint32_t count) {
  uint32_t common = topology.size_of(first);
  for (uint32_t d = first + 1; d < first + count; ++d) {
    common = std::min(common, topology.size_of(d));
  }
  return common;
}

std::string count_of(uint32_t count, std::string_view noun) {
  return str(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace

base::Result<Shape> shape_of(const Topology& topology, const Wanted& wanted) {
  if (!std::has_single_bit(wanted.size)) {
    return invalid(str("a partition of ", count_of(wanted.size, "IPU"),
                       ": the number must be a power of two"));
  }
  uint32_t segments = wanted.segments;
  if (segments == 0) {
    const uint32_t largest = std::bit_floor(std::max(largest_domain(topology), 1U));
    segments = std::max(wanted.size / largest, 1U);
  }
  if (!std::has_single_bit(segments) || segments > wanted.size) {
    return invalid(str("a partition of ", count_of(wanted.size, "IPU"), " in ",
                       count_of(segments, "segment"),
                       ": the number of segments must be a power of two up to that of the IPUs"));
  }
  return Shape{segments, wanted.size / segments};
}

std::vector<IpuPlace> candidates(const Topology& topology, const Shape& shape) {
  std::vector<IpuPlace> found;
  const uint32_t groups = topology.domains() / shape.segments;
  for (uint32_t group = 0; group < groups; ++group) {
    const uint32_t domain = group * shape.segments;
    const uint32_t blocks = common_size(topology, domain, shape.segments) / shape.each;
    for (uint32_t block = 0; block < blocks; ++block) {
      found.push_back({domain, block * shape.each});
    }
  }
  return found;
}

std::vector<Block> blocks_at(const Topology& topology, const Shape& shape, const IpuPlace& place) {
  std::vector<Block> blocks;
  for (uint32_t segment = 0; segment < shape.segments; ++segment) {
    blocks.push_back({topology.first_of(place.domain + segment) + place.ipu, shape.each});
  }
  return blocks;
}

base::Status check_wanted(const Topology& topology, const Wanted& wanted) {
  const Shape shape = TRY(shape_of(topology, wanted));
  if (!candidates(topology, shape).empty()) return {};
  return invalid(str(count_of(wanted.size, "IPU"), " in ", count_of(shape.segments, "segment"),
                     " do not fit into a pool of ", count_of(topology.domains(), "IPU-Link domain"),
                     " of up to ", count_of(largest_domain(topology), "IPU")));
}

}  // namespace vipu
