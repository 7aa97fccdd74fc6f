// SPDX-License-Identifier: Apache-2.0
// The state file of the simulator: {"pod":"pod64","partitions":[{"id":"p0","size":4,...}]}.
#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/vipu-simulator/model/model.h"
#include "vipu/wire_fields.h"

namespace vipu::simulator {

using namespace base::names;
using base::Json;
using wire::Fields;
using wire::Flag;

namespace {

constexpr size_t kMaxStateText = 1000;
constexpr size_t kMaxStateErrors = 20;

Json to_json(const std::vector<ChosenIpu>& ipus) {
  Json list = Json::array();
  for (const ChosenIpu& ipu : ipus) {
    list.push_back(Json{{"domain", ipu.place.domain},
                        {"ipu", ipu.place.ipu},
                        {"domain_routing_id", ipu.domain_routing_id},
                        {"routing_id", ipu.routing_id}});
  }
  return list;
}

Json to_json(const Record& record) {
  const PartitionRequest& wanted = record.wanted;
  return Json{{"id", wanted.id},
              {"size", wanted.size},
              {"allocation", wanted.allocation},
              {"link_routing", name_of(wanted.link_routing)},
              {"gateway_routing", name_of(wanted.gateway_routing)},
              {"sync", name_of(wanted.sync)},
              {"segments", wanted.segments},
              {"gcds", wanted.gcds},
              {"replicas", wanted.replicas},
              {"reconfigurable", wanted.reconfigurable},
              {"disable_auto_reset", wanted.disable_auto_reset},
              {"relocatable", wanted.relocatable},
              {"named", !wanted.ipus.empty()},
              {"ipus", to_json(record.ipus)},
              {"stuck", record.ready == ReadyState::kPending && record.outcome.stuck},
              {"errors", record.errors},
              {"of_agent", record.cause == Cause::kAgent},
              {"auto_resets", record.auto_resets},
              {"last_auto_reset", record.last_auto_reset / std::chrono::seconds(1)}};
}

Result<std::vector<ChosenIpu>> read_ipus(const Fields& fields, uint32_t size) {
  std::vector<ChosenIpu> ipus;
  const Json* list = TRY(fields.array("ipus", size));
  for (const Json& json : *list) {
    const Fields ipu = TRY(Fields::open(json, "ipu"));
    ChosenIpu chosen;
    chosen.place.domain = TRY(ipu.number("domain", 0, UINT32_MAX));
    chosen.place.ipu = TRY(ipu.number("ipu", 0, UINT32_MAX));
    chosen.domain_routing_id = TRY(ipu.number("domain_routing_id", 0, size - 1));
    chosen.routing_id = TRY(ipu.number("routing_id", 0, size - 1));
    if (chosen.routing_id != ipus.size()) return ipu.wrong("routing_id", "its place in the list");
    ipus.push_back(chosen);
  }
  return ipus;
}

Status read_routing(const Fields& fields, PartitionRequest& wanted) {
  const auto link = parse_link_routing(TRY(fields.text("link_routing", kMaxStateText)));
  if (!link.has_value()) return fields.wrong("link_routing", "a routing type");
  const std::string gateway_text = TRY(fields.text("gateway_routing", kMaxStateText));
  const auto gateway =
      gateway_text == "DEFAULT" ? GatewayRouting::kUndefined : parse_gateway_routing(gateway_text);
  if (!gateway.has_value()) return fields.wrong("gateway_routing", "a routing type");
  const auto sync = parse_sync_type(TRY(fields.text("sync", kMaxStateText)));
  if (!sync.has_value()) return fields.wrong("sync", "a sync type");
  wanted.link_routing = *link;
  wanted.gateway_routing = *gateway;
  wanted.sync = *sync;
  return {};
}

Result<PartitionRequest> read_wanted(const Fields& fields, const Pod& pod) {
  PartitionRequest wanted;
  wanted.id = TRY(fields.text("id", kMaxStateText));
  wanted.size = TRY(fields.number("size", 1, pod.ipus()));
  wanted.allocation = TRY(fields.text("allocation", kMaxStateText));
  wanted.cluster = pod.cluster;
  TRY(read_routing(fields, wanted));
  wanted.segments = TRY(fields.number("segments", 1, pod.ipus()));
  wanted.gcds = TRY(fields.number("gcds", 1, pod.ipus()));
  wanted.replicas = TRY(fields.number("replicas", 1, UINT32_MAX));
  wanted.reconfigurable = TRY(fields.flag("reconfigurable")) == Flag::kYes;
  wanted.disable_auto_reset = TRY(fields.flag("disable_auto_reset")) == Flag::kYes;
  wanted.relocatable = TRY(fields.flag("relocatable")) == Flag::kYes;
  return wanted;
}

Status read_condition(const Fields& fields, Record& record) {
  record.outcome.stuck = TRY(fields.flag("stuck")) == Flag::kYes;
  const Json* errors = TRY(fields.array("errors", kMaxStateErrors));
  for (const Json& error : *errors) {
    if (!error.is_string()) return fields.wrong("errors", "an array of texts");
    record.errors.push_back(error.get<std::string>());
  }
  if (!record.errors.empty()) {
    const bool of_agent = TRY(fields.flag("of_agent")) == Flag::kYes;
    record.cause = of_agent ? Cause::kAgent : Cause::kFault;
  }
  record.auto_resets = TRY(fields.number("auto_resets", 0, UINT32_MAX));
  record.last_auto_reset =
      std::chrono::seconds(TRY(fields.number("last_auto_reset", 0, UINT32_MAX)));
  return {};
}

}  // namespace

std::string Model::to_state() const {
  Json partitions = Json::array();
  for (const auto& [id, record] : records_) partitions.push_back(to_json(record));
  return base::to_pretty_text(Json{{"pod", pod_.name}, {"partitions", std::move(partitions)}});
}

Status Model::put_back(Record record) {
  TRY(check(record.wanted, Access::to_all()));
  const std::string id = record.wanted.id;
  if (record.outcome.stuck) {
    begin(record, OperationState::kCreating, Time(0), record.outcome);
  } else if (!record.errors.empty()) {
    fail(record, record.cause, record.errors);
  } else {
    finish(record);
  }
  if (!records_.emplace(id, record).second) {
    return Error(Code::kInvalid, str("partition ", base::quote(id), " is there twice"));
  }
  const std::vector<std::string> wrong = violations();
  if (!wrong.empty()) return Error(Code::kInvalid, wrong.front());
  hold(id, record);
  return {};
}

Status Model::load_state(std::string_view text) {
  const Json json = TRY(base::parse_json(text, "state"));
  const Fields state = TRY(Fields::open(json, "state"));
  const std::string pod = TRY(state.text("pod", kMaxStateText));
  if (pod != pod_.name) return state.wrong("pod", pod_.name);
  const Json* partitions = TRY(state.array("partitions", pod_.ipus()));
  for (const Json& partition : *partitions) {
    const Fields fields = TRY(Fields::open(partition, "partition"));
    Record record;
    record.wanted = TRY(read_wanted(fields, pod_));
    record.ipus = TRY(read_ipus(fields, record.wanted.size));
    if (TRY(fields.flag("named")) == Flag::kYes) record.wanted.ipus = record.ipus;
    TRY(check_places(record.ipus));
    TRY(read_condition(fields, record));
    TRY(put_back(std::move(record)));
  }
  return {};
}

}  // namespace vipu::simulator
