// SPDX-License-Identifier: Apache-2.0
// Checks requests, completes what they leave open, and finds violations in the model.
#include <algorithm>
#include <bit>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "cmd/vipu-simulator/model/model.h"

namespace vipu::simulator {

using namespace base::names;

namespace {

Error invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }

Status check_shares(const PartitionRequest& wanted) {
  const uint32_t gcds = std::max(1U, wanted.gcds);
  if (!std::has_single_bit(gcds) || gcds > wanted.size) {
    return invalid(str(gcds, " GCDs cannot share ", wanted.size,
                       " IPUs evenly: use a power of two up to that"));
  }
  if (wanted.replicas % gcds != 0) {
    return invalid(str(wanted.replicas, " replicas are no multiple of the ", gcds, " GCDs"));
  }
  return {};
}

Status check_fabric(const PartitionRequest& wanted) {
  if (wanted.sync == SyncType::kGs2IndependentRails) {
    return invalid("sync type ST_GS2_INDEPENDENT_RAILS is not supported");
  }
  const bool compatible =
      wanted.sync == SyncType::kUndefined || wanted.sync == SyncType::kGs2Default;
  if (wanted.reconfigurable && !compatible) {
    return invalid(str("sync type ", name_of(wanted.sync), " is not c2-compatible, as that of a ",
                       "reconfigurable partition must be: use ST_GS2_DEFAULT"));
  }
  return {};
}

std::set<uint32_t> domains_of(const std::vector<ChosenIpu>& ipus) {
  std::set<uint32_t> domains;
  for (const ChosenIpu& ipu : ipus) domains.insert(ipu.place.domain);
  return domains;
}

Status check_named(const PartitionRequest& wanted) {
  if (wanted.ipus.size() != wanted.size) {
    return invalid(str("size ", wanted.size, " is not the number of IPUs that are named, ",
                       wanted.ipus.size()));
  }
  if (wanted.cluster.empty()) return invalid("IPUs that are named need a cluster");
  const size_t segments = domains_of(wanted.ipus).size();
  if (wanted.segments != 0 && wanted.segments != segments) {
    return invalid(str(wanted.segments, " IPU-Link segments are not the ", segments,
                       " domains of the IPUs that are named"));
  }
  return {};
}

}  // namespace

Status Model::check(const PartitionRequest& wanted, const Access& access) const {
  if (!is_partition_name(wanted.id)) {
    return invalid(str("partition name ", base::quote(wanted.id), " is not 1 to ",
                       kMaxPartitionName, " of A-Z, a-z, 0-9, - and _"));
  }
  if (!std::has_single_bit(wanted.size) || wanted.size > pod_.ipus()) {
    return invalid(str("size ", wanted.size, " is not a power of two from 1 to ", pod_.ipus(),
                       ", the IPUs of ", pod_.name));
  }
  if (!wanted.cluster.empty() && wanted.cluster != pod_.cluster) {
    return invalid(
        str("no cluster ", base::quote(wanted.cluster), ": there is ", base::quote(pod_.cluster)));
  }
  TRY(check_shares(wanted));
  TRY(check_fabric(wanted));
  if (!wanted.ipus.empty()) {
    TRY(check_named(wanted));
  } else {
    TRY(check_wanted(pod_.topology(), {wanted.size, wanted.segments}));
  }
  if (!candidates(wanted.allocation, Access::to_all()).empty()) {
    if (!candidates(wanted.allocation, access).empty()) return {};
    return Error(Code::kDenied,
                 str("allocation ", base::quote(wanted.allocation), " is not yours"));
  }
  std::vector<std::string> names;
  for (const Allocation& allocation : pod_.allocations) names.push_back(allocation.name);
  return invalid(str("no allocation ", base::quote(wanted.allocation), ": there is ",
                     base::join(names, ", ")));
}

Status Model::check_places(const std::vector<ChosenIpu>& ipus) const {
  const Topology topology = pod_.topology();
  std::set<uint32_t> numbers;
  for (const ChosenIpu& ipu : ipus) {
    const std::optional<uint32_t> number = topology.number_of(ipu.place);
    const std::string name = str("IPU ", ipu.place.ipu, " of domain ", ipu.place.domain);
    if (!number.has_value()) return Error(Code::kInvalid, str(name, " is not in ", pod_.name));
    if (!numbers.insert(*number).second) return Error(Code::kInvalid, str(name, " is named twice"));
  }
  return {};
}

PartitionRequest Model::completed(PartitionRequest wanted) const {
  const uint32_t largest = std::min(pod_.ipus(), kIpusPerDomain);
  if (!wanted.ipus.empty()) {
    wanted.segments = static_cast<uint32_t>(domains_of(wanted.ipus).size());
  } else if (wanted.segments == 0) {
    wanted.segments = std::max(1U, wanted.size / largest);
  }
  const bool is_full_domain = wanted.size / wanted.segments == kIpusPerDomain;
  if (wanted.link_routing == LinkRouting::kUndefined) {
    wanted.link_routing = is_full_domain ? LinkRouting::kRingSwnc : LinkRouting::kDnc;
  }
  if (wanted.segments > 1 && wanted.gateway_routing == GatewayRouting::kUndefined) {
    wanted.gateway_routing = GatewayRouting::kRing;
  }
  if (wanted.sync == SyncType::kUndefined) wanted.sync = SyncType::kGs2Default;
  wanted.gcds = std::max(1U, wanted.gcds);
  wanted.replicas = wanted.replicas == 0 ? wanted.gcds : wanted.replicas;
  wanted.cluster = pod_.cluster;
  return wanted;
}

std::vector<std::string> Model::violations() const {
  std::vector<std::string> found;
  std::map<uint32_t, std::string> holders;
  for (const auto& [id, record] : records_) {
    const std::vector<uint32_t> numbers = numbers_of(record.ipus);
    if (numbers.size() != record.wanted.size) found.push_back(str(id, " has another size"));
    const std::vector<const Allocation*> own =
        candidates(record.wanted.allocation, Access::to_all());
    const uint32_t block = record.wanted.size / record.wanted.segments;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto [at, is_new] = holders.emplace(numbers[i], id);
      if (!is_new)
        found.push_back(str("IPU ", numbers[i], " is held by ", at->second, " and ", id));
      if (own.empty() || !own.front()->has_ipu(numbers[i])) {
        found.push_back(str(id, " has IPU ", numbers[i], " from outside of its allocation"));
      }
      // Domains start at multiples of every block's size, so an aligned block has aligned numbers
      // in the POD.
      const bool is_named = !record.wanted.ipus.empty();
      if (!is_named && numbers[i] % block != i % block) {
        found.push_back(str(id, " has IPU ", numbers[i], " out of place in its block"));
      }
      if (!is_named && i % block != 0 && numbers[i] != numbers[i - 1] + 1) {
        found.push_back(str(id, " has a gap before IPU ", numbers[i]));
      }
    }
  }
  return found;
}

}  // namespace vipu::simulator
