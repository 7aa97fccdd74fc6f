// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "vipu/placement.h"

namespace vipu {
namespace {

// Replaces an empty name or reason, which would mean that the IPU is free.
constexpr const char* kUnnamed = "?";

}  // namespace

Topology::Topology(const std::vector<uint32_t>& domains) : starts_{0} {
  for (const uint32_t size : domains) starts_.push_back(starts_.back() + size);
}

Topology Topology::of_pod(uint32_t ipus) {
  std::vector<uint32_t> domains(ipus / kIpusPerDomain, kIpusPerDomain);
  if (ipus % kIpusPerDomain != 0) domains.push_back(ipus % kIpusPerDomain);
  return Topology(domains);
}

std::optional<uint32_t> Topology::number_of(const IpuPlace& place) const {
  if (place.domain >= domains() || place.ipu >= size_of(place.domain)) return std::nullopt;
  return first_of(place.domain) + place.ipu;
}

IpuPlace Topology::place_of(uint32_t number) const {
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), number);
  const auto domain = static_cast<uint32_t>(next - starts_.begin() - 1);
  return {domain, number - first_of(domain)};
}

Occupancy::Occupancy(Topology topology)
    : topology_(std::move(topology)), holders_(topology_.ipus()), taints_(topology_.ipus()) {}

Occupancy Occupancy::of(const Survey& survey) {
  Occupancy occupancy{Topology(survey.domains)};
  for (const Partition& partition : survey.partitions) {
    for (const IpuPlace& place : partition.ipus) {
      const std::optional<uint32_t> number = occupancy.topology_.number_of(place);
      if (number.has_value()) occupancy.hold(*number, partition.id);
    }
  }
  for (const TaintedIpu& ipu : survey.tainted) {
    const std::optional<uint32_t> number = occupancy.topology_.number_of(ipu.place);
    if (number.has_value()) occupancy.taint(*number, ipu.reason);
  }
  return occupancy;
}

void Occupancy::hold(uint32_t number, const std::string& holder) {
  holders_.at(number) = holder.empty() ? kUnnamed : holder;
}

void Occupancy::taint(uint32_t number, const std::string& reason) {
  taints_.at(number) = reason.empty() ? kUnnamed : reason;
}

bool Occupancy::is_free(uint32_t number) const {
  return holder_of(number).empty() && taint_of(number).empty();
}

const std::string& Occupancy::holder_of(uint32_t number) const { return holders_.at(number); }

const std::string& Occupancy::taint_of(uint32_t number) const { return taints_.at(number); }

uint32_t Occupancy::free_ipus() const {
  uint32_t free = 0;
  for (uint32_t number = 0; number < topology_.ipus(); ++number) free += is_free(number) ? 1U : 0U;
  return free;
}

}  // namespace vipu
