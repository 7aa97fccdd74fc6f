// SPDX-License-Identifier: Apache-2.0
// A whole pool as JSON: its domains, and the attributes of its IPUs.
#include "base/names.h"
#include "vipu/wire_fields.h"
#include "vipu/wire_values.h"

namespace vipu::wire {
namespace {

using namespace base::names;
using base::Json;

// More than any V-IPU installation has: the largest POD is 256 IPUs in 4 domains.
constexpr size_t kMaxPoolIpus = 65536;
constexpr size_t kMaxDomains = 4096;
constexpr size_t kMaxAgentName = 256;      // bytes of an agent's name
constexpr size_t kMaxIpuAttributes = 256;  // per IPU
constexpr size_t kMaxAttribute = 1024;     // bytes of an attribute, or of a reason

Result<std::vector<uint32_t>> parse_domains(const Fields& fields) {
  const Json* sizes = TRY(fields.array("domains", kMaxDomains));
  std::vector<uint32_t> domains;
  uint64_t ipus = 0;
  for (const Json& size : *sizes) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > kMaxPoolIpus) {
      return fields.wrong("domains", "an array of numbers of IPUs");
    }
    domains.push_back(size.get<uint32_t>());
    ipus += domains.back();
  }
  if (ipus > kMaxPoolIpus) return fields.wrong("domains", "an array of numbers of IPUs: too many");
  return domains;
}

Result<TaintedIpu> parse_tainted(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "tainted IPU"));
  TaintedIpu tainted;
  tainted.place.domain = TRY(fields.number("domain", 0, UINT32_MAX));
  tainted.place.ipu = TRY(fields.number("ipu", 0, UINT32_MAX));
  tainted.reason = TRY(fields.text("reason", kMaxAttribute));
  return tainted;
}

Result<IpuAttributes> parse_ipu(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "attributes of an IPU"));
  IpuAttributes ipu;
  ipu.agent = TRY(fields.text("agent", kMaxAgentName));
  ipu.ipu = TRY(fields.number("ipu", 0, UINT32_MAX));
  const Json* attributes = TRY(fields.object("attributes", kMaxIpuAttributes));
  for (const auto& [name, value] : attributes->items()) {
    if (!is_plain_text(name, kMaxAttribute) || !value.is_string() ||
        !is_plain_text(value.get_ref<const std::string&>(), kMaxAttribute)) {
      return fields.wrong("attributes", "a map of short texts");
    }
    ipu.attributes.emplace(name, value.get<std::string>());
  }
  return ipu;
}

}  // namespace

Json to_json(const Survey& survey) {
  Json tainted = Json::array();
  for (const TaintedIpu& ipu : survey.tainted) {
    tainted.push_back(
        Json{{"domain", ipu.place.domain}, {"ipu", ipu.place.ipu}, {"reason", ipu.reason}});
  }
  return {{"domains", survey.domains},
          {"partitions", to_json(survey.partitions)},
          {"tainted", std::move(tainted)}};
}

Json to_json(const std::vector<IpuAttributes>& ipus) {
  Json json = Json::array();
  for (const IpuAttributes& ipu : ipus) {
    json.push_back(Json{{"agent", ipu.agent}, {"ipu", ipu.ipu}, {"attributes", ipu.attributes}});
  }
  return json;
}

template <>
Result<Survey> from_json(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "survey"));
  Survey survey;
  survey.domains = TRY(parse_domains(fields));
  const Json* partitions = TRY(fields.array("partitions", kMaxPoolIpus));
  survey.partitions = TRY(from_json<std::vector<Partition>>(*partitions));
  const Json* tainted = TRY(fields.array("tainted", kMaxPoolIpus));
  for (const Json& ipu : *tainted) survey.tainted.push_back(TRY(parse_tainted(ipu)));
  return survey;
}

template <>
Result<std::vector<IpuAttributes>> from_json(const Json& json) {
  if (!json.is_array() || json.size() > kMaxPoolIpus) {
    return Error(Code::kInvalid, "IPUs: is not an array, or too long");
  }
  std::vector<IpuAttributes> ipus;
  for (const Json& ipu : json) ipus.push_back(TRY(parse_ipu(ipu)));
  return ipus;
}

}  // namespace vipu::wire
