// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/names.h"
#include "vipu/wire.h"
#include "vipu/wire_access.h"
#include "vipu/wire_fields.h"
#include "vipu/wire_names.h"

namespace vipu::wire {
namespace {

using base::Json;
using namespace base::names;

constexpr size_t kMaxName = 256;  // bytes of the name of a partition, an allocation, ...
constexpr uint32_t kMaxTimeout = 24 * 3'600'000;
constexpr uint32_t kMaxRequestIpus = 1U << 20;
constexpr size_t kMaxChosen = 4096;
constexpr size_t kMaxAgents = 4096;

const std::vector<std::string>& call_names() {
  static const std::vector<std::string> names = names_up_to(Call::kVersion, wire::name_of);
  return names;
}

bool makes_partition(Call call) { return call == Call::kCreate || call == Call::kSubmit; }

bool is_about_partition(Call call) {
  return makes_partition(call) || call == Call::kWait || call == Call::kStatus ||
         call == Call::kConfig || call == Call::kReset || call == Call::kRemove;
}

Json to_json(const ChosenIpu& ipu) {
  return {{"domain", ipu.place.domain},
          {"ipu", ipu.place.ipu},
          {"domain_routing_id", ipu.domain_routing_id},
          {"routing_id", ipu.routing_id}};
}

Json to_json(const PartitionRequest& request) {
  Json ipus = Json::array();
  for (const ChosenIpu& ipu : request.ipus) ipus.push_back(to_json(ipu));
  return {{"id", request.id},
          {"size", request.size},
          {"reconfigurable", request.reconfigurable},
          {"allocation", request.allocation},
          {"cluster", request.cluster},
          {"link_routing", name_of(request.link_routing)},
          {"gateway_routing", name_of(request.gateway_routing)},
          {"sync", name_of(request.sync)},
          {"segments", request.segments},
          {"gcds", request.gcds},
          {"replicas", request.replicas},
          {"ipus", std::move(ipus)},
          {"disable_auto_reset", request.disable_auto_reset},
          {"relocatable", request.relocatable}};
}

Result<ChosenIpu> parse_chosen(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "ipu"));
  ChosenIpu ipu;
  ipu.place.domain = TRY(fields.number("domain", 0, UINT32_MAX));
  ipu.place.ipu = TRY(fields.number("ipu", 0, UINT32_MAX));
  ipu.domain_routing_id = TRY(fields.number("domain_routing_id", 0, UINT32_MAX));
  ipu.routing_id = TRY(fields.number("routing_id", 0, UINT32_MAX));
  return ipu;
}

Result<PartitionRequest> parse_wanted(const Fields& fields) {
  PartitionRequest request;
  request.size = TRY(fields.number("size", 0, kMaxRequestIpus));
  request.reconfigurable = TRY(fields.flag("reconfigurable")) == Flag::kYes;
  request.allocation = TRY(fields.text("allocation", kMaxName));
  request.cluster = TRY(fields.text("cluster", kMaxName));
  request.link_routing = TRY(parse_choice<LinkRouting>(fields, "link_routing"));
  request.gateway_routing = TRY(parse_choice<GatewayRouting>(fields, "gateway_routing"));
  request.sync = TRY(parse_choice<SyncType>(fields, "sync"));
  request.segments = TRY(fields.number("segments", 0, kMaxRequestIpus));
  request.gcds = TRY(fields.number("gcds", 0, kMaxRequestIpus));
  request.replicas = TRY(fields.number("replicas", 0, UINT32_MAX));
  const Json* ipus = TRY(fields.array("ipus", kMaxChosen));
  for (const Json& ipu : *ipus) request.ipus.push_back(TRY(parse_chosen(ipu)));
  request.disable_auto_reset = TRY(fields.flag("disable_auto_reset")) == Flag::kYes;
  request.relocatable = TRY(fields.flag("relocatable")) == Flag::kYes;
  return request;
}

Result<PartitionRequest> parse_partition(const Json& json, Call call) {
  const Fields fields = TRY(Fields::open(json, "partition"));
  const std::string id = TRY(fields.text("id", kMaxName));
  if (id.empty()) return fields.wrong("id", "a name: it is empty");
  PartitionRequest request;
  if (makes_partition(call)) request = TRY(parse_wanted(fields));
  request.id = id;
  return request;
}

// Parses the members that only some calls have.
Status parse_options(const Fields& fields, Request& request) {
  if (request.call == Call::kConfig && fields.has("gcd")) {
    request.gcd = TRY(fields.number("gcd", 0, UINT32_MAX));
  }
  if (request.call == Call::kReset) {
    request.relocate = static_cast<Relocate>(TRY(fields.flag("relocate")));
  }
  if (request.call == Call::kRemove) request.force = static_cast<Force>(TRY(fields.flag("force")));
  if (request.call == Call::kAttributes) {
    request.agents = TRY(fields.texts("agents", kMaxAgents, kMaxName));
  }
  return {};
}

}  // namespace

const char* name_of(Call call) {
  switch (call) {
    case Call::kCreate:
      return "create";
    case Call::kSubmit:
      return "submit";
    case Call::kWait:
      return "wait";
    case Call::kList:
      return "list";
    case Call::kStatus:
      return "status";
    case Call::kConfig:
      return "config";
    case Call::kReset:
      return "reset";
    case Call::kRemove:
      return "remove";
    case Call::kSurvey:
      return "survey";
    case Call::kAttributes:
      return "attributes";
    case Call::kResolve:
      return "resolve";
    case Call::kVersion:
      return "version";
  }
  return "";
}

std::string to_text(const Request& request) {
  Json json = to_json(request.access);
  json["timeout_ms"] = std::max<int64_t>(0, request.timeout.count());
  json["call"] = name_of(request.call);
  if (is_about_partition(request.call)) json["partition"] = {{"id", request.partition.id}};
  if (makes_partition(request.call)) json["partition"] = to_json(request.partition);
  if (request.call == Call::kConfig && request.gcd) json["gcd"] = *request.gcd;
  if (request.call == Call::kReset) json["relocate"] = request.relocate == Relocate::kYes;
  if (request.call == Call::kRemove) json["force"] = request.force == Force::kYes;
  if (request.call == Call::kAttributes) json["agents"] = request.agents;
  return base::to_text(json);
}

Result<Request> parse_request(std::string_view text) {
  const Json json = TRY(base::parse_json(text, "request"));
  const Fields fields = TRY(Fields::open(json, "request"));
  Request request;
  request.access = TRY(parse_access(fields));
  request.timeout = std::chrono::milliseconds(TRY(fields.number("timeout_ms", 0, kMaxTimeout)));
  request.call = static_cast<Call>(TRY(fields.choice("call", call_names())));
  if (is_about_partition(request.call)) {
    const Json* partition = TRY(fields.object("partition", 16));
    request.partition = TRY(parse_partition(*partition, request.call));
  }
  TRY(parse_options(fields, request));
  return request;
}

}  // namespace vipu::wire
