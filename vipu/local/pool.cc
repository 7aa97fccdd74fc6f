// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/pool.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "vipu/backfill.h"
#include "vipu/placement.h"

namespace vipu::local {
namespace {

using namespace base::names;

std::string text_of(const IpuPlace& place) { return str(place.domain, ":", place.ipu); }

Partition partition_of(const Topology& topology, const Pool& pool, const Record& record) {
  const Found found = find(pool, record);
  Partition partition;
  partition.id = record.id;
  for (const uint32_t number : found.numbers) partition.ipus.push_back(topology.place_of(number));
  partition.ipus.resize(record.ipus.size(), kGone);
  partition.reconfigurable = true;
  partition.ready = found.gone.empty() ? ReadyState::kActive : ReadyState::kError;
  return partition;
}

// Returns whether NUMBERS consists of whole domains.
bool are_whole_domains(const Topology& topology, const std::set<uint32_t>& numbers) {
  std::map<uint32_t, uint32_t> counts;
  for (const uint32_t number : numbers) ++counts[topology.place_of(number).domain];
  return std::all_of(counts.begin(), counts.end(), [&](const auto& count) {
    return count.second == topology.size_of(count.first);
  });
}

bool is_block(const Topology& topology, const std::set<uint32_t>& numbers) {
  const size_t size = numbers.size();
  const IpuPlace first = topology.place_of(*numbers.begin());
  const IpuPlace last = topology.place_of(*numbers.rbegin());
  return std::has_single_bit(size) && first.domain == last.domain && first.ipu % size == 0 &&
         last.ipu - first.ipu == size - 1;
}

Result<std::set<uint32_t>> numbers_of(const Pool& pool, const PartitionRequest& request) {
  std::set<uint32_t> numbers;
  for (const ChosenIpu& ipu : request.ipus) {
    const std::optional<uint32_t> number = pool.number_of(ipu.place);
    if (!number.has_value()) {
      return Error(Code::kInvalid, str("the pool has no IPU ", text_of(ipu.place)));
    }
    if (!numbers.insert(*number).second) {
      return Error(Code::kInvalid, str("IPU ", text_of(ipu.place), " is named twice"));
    }
  }
  if (request.size != 0 && request.size != numbers.size()) {
    return Error(Code::kInvalid, str("a partition of size ", request.size, " cannot have the ",
                                     numbers.size(), " IPUs that are named"));
  }
  return numbers;
}

Status check_free(const Occupancy& occupancy, const Pool& pool, const IpuPlace& name) {
  const uint32_t number = pool.number_of(name).value();
  const std::string ipu = str("IPU ", text_of(name));
  const std::string& taint = occupancy.taint_of(number);
  if (!taint.empty()) return Error(Code::kDenied, str(ipu, " is tainted: ", taint));
  const std::string& holder = occupancy.holder_of(number);
  if (holder.empty()) return {};
  return Error(Code::kBusy,
               str(ipu, " (", quote(pool.ipus[number]), ") is held by ", quote(holder)));
}

Result<std::vector<uint32_t>> choose_named(const Occupancy& occupancy, const Pool& pool,
                                           const PartitionRequest& request) {
  const std::set<uint32_t> numbers = TRY(numbers_of(pool, request));
  const Topology& topology = occupancy.topology();
  if (!is_block(topology, numbers) && !are_whole_domains(topology, numbers)) {
    return Error(Code::kInvalid,
                 "the IPUs that are named are neither one block, aligned to its size, a power of "
                 "two, nor whole groups of linked IPUs");
  }
  for (const ChosenIpu& named : request.ipus) TRY(check_free(occupancy, pool, named.place));
  return std::vector<uint32_t>(numbers.begin(), numbers.end());
}

}  // namespace

Found find(const Pool& pool, const Record& record) {
  Found found;
  for (const std::string& ipu : record.ipus) {
    const auto at = std::find(pool.ipus.begin(), pool.ipus.end(), ipu);
    if (at == pool.ipus.end()) {
      found.gone.push_back(ipu);
    } else {
      found.numbers.push_back(static_cast<uint32_t>(at - pool.ipus.begin()));
    }
  }
  return found;
}

void taint(Pool& pool, uint32_t number, const std::string& reason) {
  const Topology topology(pool.domains);
  if (number >= topology.ipus()) return;
  const IpuPlace at = topology.place_of(number);
  const bool already = std::any_of(pool.tainted.begin(), pool.tainted.end(),
                                   [&](const TaintedIpu& ipu) { return ipu.place == at; });
  if (!already) pool.tainted.push_back({at, reason});
}

void taint(Pool& pool, const std::vector<BadIpu>& bad) {
  for (const BadIpu& one : bad) {
    const auto at = std::find(pool.ipus.begin(), pool.ipus.end(), one.ipu);
    if (at == pool.ipus.end()) continue;
    taint(pool, static_cast<uint32_t>(at - pool.ipus.begin()), one.reason);
  }
}

Survey survey_of(const Pool& pool, const std::vector<Record>& records) {
  const Topology topology(pool.domains);
  Survey survey{pool.domains, {}, pool.tainted};
  for (const Record& record : records) {
    survey.partitions.push_back(partition_of(topology, pool, record));
  }
  return survey;
}

Status check_request(const PartitionRequest& request) {
  if (!is_partition_name(request.id)) {
    return Error(Code::kInvalid, str(quote(request.id), " is no partition name: it has 1 to ",
                                     kMaxPartitionName, " characters of A-Z a-z 0-9 - _"));
  }
  const std::pair<const char*, bool> refused[] = {
      {"cluster", !request.cluster.empty()},
      {"allocation", !request.allocation.empty()},
      {"link routing", request.link_routing != LinkRouting::kUndefined},
      {"gateway routing", request.gateway_routing != GatewayRouting::kUndefined},
      {"sync type", request.sync != SyncType::kUndefined},
      {"number of segments", request.segments > 1},
      {"number of GCDs", request.gcds > 1},
      {"number of replicas", request.replicas > 1}};
  for (const auto& [field, asked] : refused) {
    if (asked) {
      return Error(Code::kUnsupported, str("the ", field, " cannot be chosen in a local pool"));
    }
  }
  return {};
}

Result<std::vector<uint32_t>> choose(const Pool& pool, const Survey& survey,
                                     const PartitionRequest& request) {
  Occupancy occupancy = Occupancy::of(survey);
  if (request.pinned) keep(occupancy, *request.pinned);
  if (!request.ipus.empty()) return choose_named(occupancy, pool, request);
  const Wanted wanted{request.size, 1};
  TRY(check_wanted(occupancy.topology(), wanted));
  const std::optional<std::vector<Block>> blocks = place(occupancy, wanted);
  if (!blocks.has_value()) {
    return Error(Code::kBusy, to_text(why_not(occupancy, wanted), wanted));
  }
  std::vector<uint32_t> numbers(request.size);
  for (uint32_t i = 0; i < request.size; ++i) numbers[i] = blocks->front().first + i;
  return numbers;
}

}  // namespace vipu::local
