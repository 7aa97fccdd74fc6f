// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/model/model.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace vipu::simulator {

using namespace base::names;

namespace {

Error not_found(const std::string& id) {
  return {Code::kNotFound, str("no partition ", base::quote(id))};
}

}  // namespace

Status Model::create(PartitionRequest wanted, const Access& access, const Outcome& outcome) {
  TRY(check(wanted, access));
  if (records_.contains(wanted.id)) {
    return Error(Code::kExists, str("there is a partition ", base::quote(wanted.id)));
  }
  const auto is_under_way = [](const auto& each) {
    const OperationState operation = each.second.operation;
    return operation != OperationState::kIdle && operation != OperationState::kFailed;
  };
  if (settings_.quirks.one_by_one && std::any_of(records_.begin(), records_.end(), is_under_way)) {
    return Error(Code::kUnavailable, "another operation is in progress");
  }
  Placed placed = TRY(wanted.ipus.empty() ? find_room(wanted, access) : find_named(wanted, access));
  wanted.allocation = std::move(placed.allocation);
  Record record{completed(std::move(wanted)), std::move(placed.ipus)};
  Outcome ends_in = outcome;
  if (ends_in.errors.empty() && !settings_.create_error.empty()) {
    ends_in.errors = {settings_.create_error};
    ends_in.lasting = true;
  }
  const std::string id = record.wanted.id;
  record.seen_from = now_ + settings_.quirks.late_listing;
  begin(record, OperationState::kCreating, settings_.create_delay, ends_in);
  hold(id, record);
  records_.emplace(id, std::move(record));
  advance_to(now_);
  return {};
}

Status Model::remove(const std::string& id, Force force) {
  Record* record = TRY(find(id));
  if (force == Force::kNo && record->ready == ReadyState::kError) {
    return Error(Code::kBusy, str("partition ", base::quote(id), " failed: it takes force"));
  }
  if (settings_.quirks.slow_removal == Time(0)) {
    erase(id);
  } else if (record->operation != OperationState::kRemoving) {
    record->operation = OperationState::kRemoving;
    record->due = now_ + settings_.quirks.slow_removal;
    ++revision_;
  }
  return {};
}

void Model::erase(const std::string& id) {
  const auto at = records_.find(id);
  release(id, at->second);
  records_.erase(at);
}

Status Model::reset(const std::string& id, Relocate by_call, const Outcome& outcome) {
  Record* record = TRY(find(id));
  if (record->operation == OperationState::kRemoving) return not_found(id);
  const Quirks& quirks = settings_.quirks;
  if (quirks.early_reset && record->operation == OperationState::kCreating) {
    return Error(Code::kUnavailable, str("partition ", base::quote(id), " is CREATING"));
  }
  if (by_call == Relocate::kYes || record->wanted.relocatable) relocate(id, *record);
  record->auto_resets = 0;
  record->last_auto_reset = Time(0);
  if (quirks.late_reset != Time(0)) {
    record->outcome = outcome;
    record->is_reset_ahead = true;
    record->due = now_ + quirks.late_reset;
    return {};
  }
  begin(*record, OperationState::kResetting, settings_.reset_delay, outcome);
  advance_to(now_);
  return {};
}

Status Model::set_error(const std::string& id, const std::vector<std::string>& errors) {
  Record* record = TRY(find(id));
  fail(*record, Cause::kFault, errors);
  return {};
}

Status Model::take_agent_down(std::string_view agent) {
  const uint32_t machine = TRY(machine_of_agent(pod_, agent));
  down_[machine] = str("agent ", agent, " is down");
  for (auto& [id, record] : records_) {
    const std::optional<std::string> down = down_agent_of(record);
    // A PENDING partition fails when its operation ends.
    if (down.has_value() && record.ready == ReadyState::kActive)
      fail(record, Cause::kAgent, {*down});
  }
  return {};
}

Status Model::bring_agent_up(std::string_view agent) {
  const uint32_t machine = TRY(machine_of_agent(pod_, agent));
  down_.erase(machine);
  return {};
}

Result<uint32_t> Model::check_ipu(uint32_t ipu) const {
  if (ipu < pod_.ipus()) return ipu;
  return Error(Code::kInvalid, str("no IPU ", ipu, ": they are 0 to ", pod_.ipus() - 1));
}

Status Model::taint(uint32_t ipu, const std::string& reason) {
  taints_[TRY(check_ipu(ipu))] = reason;
  return {};
}

Status Model::untaint(uint32_t ipu) {
  taints_.erase(TRY(check_ipu(ipu)));
  return {};
}

Result<Record*> Model::find(const std::string& id) {
  const auto at = records_.find(id);
  if (at == records_.end()) return not_found(id);
  return &at->second;
}

Result<const Record*> Model::find(const std::string& id) const {
  const auto at = records_.find(id);
  if (at == records_.end()) return not_found(id);
  return &at->second;
}

Result<std::vector<IpuofConfig>> Model::config(const std::string& id) const {
  const Record* record = TRY(find(id));
  if (record->ready != ReadyState::kActive) {
    return Error(Code::kBusy, str("partition ", base::quote(id), " is ", name_of(record->ready),
                                  " and not ACTIVE"));
  }
  if (now_ < record->active_from + settings_.quirks.late_config) return std::vector<IpuofConfig>();
  const bool has_addresses = now_ >= record->active_from + settings_.quirks.late_address;
  std::vector<IpuofConfig> gcds(record->wanted.gcds);
  const size_t per_gcd = record->ipus.size() / gcds.size();
  const std::vector<uint32_t> numbers = numbers_of(record->ipus);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const ChosenIpu& ipu = record->ipus[i];
    gcds[i / per_gcd].devices.push_back(
        device_of(pod_, numbers[i], ipu.domain_routing_id, ipu.routing_id));
    if (!has_addresses) gcds[i / per_gcd].devices.back().ip.clear();
  }
  // Only these two attributes of a GCD are known by name.
  for (size_t gcd = 0; gcd < gcds.size(); ++gcd) {
    gcds[gcd].attributes["GCD Id"] = std::to_string(gcd);
    gcds[gcd].attributes["Fabric Reconfigurable"] =
        record->wanted.reconfigurable ? "true" : "false";
  }
  return gcds;
}

std::vector<uint32_t> Model::numbers_of(const std::vector<ChosenIpu>& ipus) const {
  const Topology topology = pod_.topology();
  std::vector<uint32_t> numbers;
  for (const ChosenIpu& ipu : ipus) numbers.push_back(topology.number_of(ipu.place).value_or(0));
  return numbers;
}

void Model::hold(const std::string& id, const Record& record) {
  events_.push_back({Event::Kind::kHold, id, numbers_of(record.ipus)});
  ++revision_;
}

void Model::release(const std::string& id, const Record& record) {
  events_.push_back({Event::Kind::kFree, id, numbers_of(record.ipus)});
  ++revision_;
}

std::string Model::holder_of(uint32_t ipu) const {
  for (const auto& [id, record] : records_) {
    const std::vector<uint32_t> numbers = numbers_of(record.ipus);
    if (std::find(numbers.begin(), numbers.end(), ipu) != numbers.end()) return id;
  }
  return "";
}

std::string Model::ailment_of(uint32_t ipu) const {
  const auto down = down_.find(machine_of(ipu));
  if (down != down_.end()) return down->second;
  const auto taint = taints_.find(ipu);
  return taint == taints_.end() ? "" : taint->second;
}

}  // namespace vipu::simulator
