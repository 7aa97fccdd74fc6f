// SPDX-License-Identifier: Apache-2.0
// Chooses the IPUs of partitions.
#include <algorithm>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "cmd/vipu-simulator/model/model.h"

namespace vipu::simulator {

using namespace base::names;

namespace {

constexpr const char* kOutside = "not in the allocation";

std::vector<ChosenIpu> ipus_of(const Topology& topology, const std::vector<Block>& blocks) {
  std::vector<ChosenIpu> ipus;
  for (uint32_t segment = 0; segment < blocks.size(); ++segment) {
    for (uint32_t i = 0; i < blocks[segment].size; ++i) {
      const uint32_t routing_id = static_cast<uint32_t>(ipus.size());
      ipus.push_back({topology.place_of(blocks[segment].first + i), segment, routing_id});
    }
  }
  return ipus;
}

// Returns whether IDS are 0, 1, 2, ... up to COUNT - 1.
bool is_numbering(const std::set<uint32_t>& ids, size_t count) {
  return ids.size() == count && (ids.empty() || *ids.rbegin() == count - 1);
}

// Sorts named IPUs by their routing ids. If all given ids are 0, numbers them in the given order.
Status number_ipus(std::vector<ChosenIpu>& ipus) {
  std::set<uint32_t> routing;
  std::map<uint32_t, std::set<uint32_t>> ids_of_domain;
  std::vector<uint32_t> order;  // of the domains
  for (const ChosenIpu& ipu : ipus) {
    routing.insert(ipu.routing_id);
    if (!ids_of_domain.contains(ipu.place.domain)) order.push_back(ipu.place.domain);
    ids_of_domain[ipu.place.domain].insert(ipu.domain_routing_id);
  }
  const bool open = routing == std::set<uint32_t>{0};
  std::set<uint32_t> domain_ids;
  for (const auto& [domain, ids] : ids_of_domain) {
    if (ids.size() != 1)
      return Error(Code::kInvalid, "IPUs of one domain differ in its routing id");
    domain_ids.insert(*ids.begin());
  }
  const bool open_domains = domain_ids == std::set<uint32_t>{0};
  if ((!open && !is_numbering(routing, ipus.size())) ||
      (!open_domains && !is_numbering(domain_ids, order.size()))) {
    return Error(Code::kInvalid, "routing ids are not 0 and up, each once");
  }
  for (uint32_t i = 0; i < ipus.size(); ++i) {
    if (open) ipus[i].routing_id = i;
    const auto place = std::find(order.begin(), order.end(), ipus[i].place.domain);
    if (open_domains) ipus[i].domain_routing_id = static_cast<uint32_t>(place - order.begin());
  }
  std::sort(ipus.begin(), ipus.end(),
            [](const ChosenIpu& a, const ChosenIpu& b) { return a.routing_id < b.routing_id; });
  return {};
}

Status check_free(const Occupancy& pod, uint32_t number) {
  if (pod.is_free(number)) return {};
  const bool is_held = !pod.holder_of(number).empty();
  return Error(Code::kBusy,
               str("IPU ", number, " is not free: ", is_held ? "held by " : "tainted: ",
                   base::quote(is_held ? pod.holder_of(number) : pod.taint_of(number))));
}

}  // namespace

Occupancy Model::occupancy() const {
  Occupancy pod(pod_.topology());
  for (const auto& [id, record] : records_) {
    for (const uint32_t number : numbers_of(record.ipus)) pod.hold(number, id);
  }
  for (uint32_t ipu = 0; ipu < pod_.ipus(); ++ipu) {
    const std::string ailment = ailment_of(ipu);
    if (!ailment.empty()) pod.taint(ipu, ailment);
  }
  return pod;
}

Occupancy Model::within(const Allocation& allocation) const {
  Occupancy pod = occupancy();
  for (uint32_t ipu = 0; ipu < pod_.ipus(); ++ipu) {
    if (!allocation.has_ipu(ipu)) pod.taint(ipu, kOutside);
  }
  return pod;
}

// Returns the allocations that a partition may be created from. An empty NAME means any.
std::vector<const Allocation*> Model::candidates(const std::string& name,
                                                 const Access& access) const {
  std::vector<const Allocation*> found;
  for (const Allocation& allocation : pod_.allocations) {
    const bool is_meant = name.empty() || allocation.name == name;
    if (is_meant && access.covers(allocation.name)) found.push_back(&allocation);
  }
  return found;
}

Result<Model::Placed> Model::find_room(const PartitionRequest& request,
                                       const Access& access) const {
  const Wanted wanted{request.size, request.segments};
  std::vector<std::string> busy;
  for (const Allocation* allocation : candidates(request.allocation, access)) {
    Occupancy empty(pod_.topology());
    for (uint32_t ipu = 0; ipu < pod_.ipus(); ++ipu) {
      if (!allocation->has_ipu(ipu)) empty.taint(ipu, kOutside);
    }
    if (!place(empty, wanted).has_value()) continue;  // never has room
    const Occupancy pod = within(*allocation);
    if (const auto blocks = place(pod, wanted)) {
      return Placed{allocation->name, ipus_of(pod_.topology(), *blocks)};
    }
    busy.push_back(str(pod_.allocations.size() > 1 ? allocation->name + ": " : "",
                       to_text(why_not(pod, wanted), wanted)));
  }
  if (!busy.empty()) return Error(Code::kBusy, base::join(busy, "; "));
  return Error(Code::kInvalid,
               str("no block of ", request.size, " IPUs fits into ",
                   request.allocation.empty() ? "any allocation"
                                              : "allocation " + base::quote(request.allocation)));
}

Result<Model::Placed> Model::find_named(const PartitionRequest& wanted,
                                        const Access& access) const {
  TRY(check_places(wanted.ipus));
  const std::vector<uint32_t> numbers = numbers_of(wanted.ipus);
  for (const Allocation* allocation : candidates(wanted.allocation, access)) {
    const bool has_all = std::all_of(numbers.begin(), numbers.end(),
                                     [&](uint32_t ipu) { return allocation->has_ipu(ipu); });
    if (!has_all) continue;
    Placed placed{allocation->name, wanted.ipus};
    TRY(number_ipus(placed.ipus));
    const Occupancy pod = occupancy();
    for (const uint32_t number : numbers) TRY(check_free(pod, number));
    return placed;
  }
  return Error(Code::kInvalid, "the IPUs that are named are not of one allocation");
}

void Model::relocate(const std::string& id, Record& record) {
  const std::vector<uint32_t> numbers = numbers_of(record.ipus);
  const bool is_well = std::all_of(numbers.begin(), numbers.end(),
                                   [&](uint32_t ipu) { return ailment_of(ipu).empty(); });
  if (is_well) return;
  const std::vector<const Allocation*> own = candidates(record.wanted.allocation, Access::to_all());
  if (own.empty()) return;
  const auto blocks = place(within(*own.front()), {record.wanted.size, record.wanted.segments});
  if (!blocks.has_value()) return;
  release(id, record);
  record.ipus = ipus_of(pod_.topology(), *blocks);
  record.wanted.ipus.clear();
  hold(id, record);
}

}  // namespace vipu::simulator
