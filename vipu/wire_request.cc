// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "vipu/wire.h"
#include "vipu/wire_fields.h"

namespace vipu::wire {
namespace {

using base::Json;
using base::Result;

constexpr size_t kMaxName = 256;  // bytes of a partition's or an allocation's name
constexpr uint32_t kMaxTimeout = 24 * 3'600'000;
constexpr uint32_t kMaxSize = 1U << 20;

// In the order of Call.
const std::vector<std::string>& call_names() {
  static const std::vector<std::string> names = {"create", "list",     "status", "config",
                                                 "remove", "capacity", "version"};
  return names;
}

bool needs_partition(Call call) {
  return call == Call::kCreate || call == Call::kStatus || call == Call::kConfig ||
         call == Call::kRemove;
}

Result<PartitionRequest> parse_partition(const Json& json, Call call) {
  const Fields fields = TRY(Fields::open(json, "partition"));
  PartitionRequest request;
  request.id = TRY(fields.text("id", kMaxName));
  if (request.id.empty()) return fields.wrong("id", "a name: it is empty");
  if (call != Call::kCreate) return request;
  request.size = TRY(fields.number("size", 0, kMaxSize));
  request.reconfigurable = TRY(fields.flag("reconfigurable")) == Flag::kYes;
  request.allocation = TRY(fields.text("allocation", kMaxName));
  return request;
}

}  // namespace

const char* name_of(Call call) { return call_names()[static_cast<size_t>(call)].c_str(); }

std::string to_text(const Request& request) {
  Json json = {{"controller", request.controller},
               {"timeout_ms", std::max<int64_t>(0, request.timeout.count())},
               {"call", name_of(request.call)}};
  if (needs_partition(request.call)) json["partition"] = {{"id", request.partition.id}};
  if (request.call == Call::kCreate) {
    json["partition"]["size"] = request.partition.size;
    json["partition"]["reconfigurable"] = request.partition.reconfigurable;
    json["partition"]["allocation"] = request.partition.allocation;
  }
  return base::to_text(json);
}

Result<Request> parse_request(std::string_view text) {
  const Json json = TRY(base::parse_json(text, "request"));
  const Fields fields = TRY(Fields::open(json, "request"));
  Request request;
  request.controller = TRY(fields.text("controller", kMaxName));
  if (!is_host_and_port(request.controller)) {
    return fields.wrong("controller", "HOST:PORT, such as 10.1.3.101:8090");
  }
  request.timeout = std::chrono::milliseconds(TRY(fields.number("timeout_ms", 0, kMaxTimeout)));
  request.call = static_cast<Call>(TRY(fields.choice("call", call_names())));
  if (needs_partition(request.call)) {
    const Json* partition = TRY(fields.object("partition", 16));
    request.partition = TRY(parse_partition(*partition, request.call));
  }
  return request;
}

}  // namespace vipu::wire
