// SPDX-License-Identifier: Apache-2.0
// Parses fault plans.
#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/vipu-simulator/model/faults.h"
#include "vipu/wire_fields.h"
#include "vipu/wire_names.h"

namespace vipu::simulator {

using base::Json;
using namespace base::names;
using wire::Fields;

namespace {

constexpr size_t kMaxFaults = 1000;
constexpr size_t kMaxFaultErrors = 20;
constexpr size_t kMaxFaultText = 1000;

constexpr std::array kCalls = {"CreatePartition",         "RemovePartition",    "ResetPartition",
                               "GetPartitionIpuofConfig", "GetPartitionStatus", "ListPartitions",
                               "ListIPUAttributes",       "GetVersion"};

const std::vector<std::string>& action_names() {
  static const std::vector<std::string> names = wire::names_up_to(Action::kStuckPending, name_of);
  return names;
}

Status check_keys(const Json& object, const Fields& fields, const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string name = base::quote(key);
    return fields.wrong(name.substr(1, name.size() - 2).c_str(),
                        str("one of ", base::join(known, ", ")));
  }
  return {};
}

Status read_call(const Fields& fields, Fault& fault) {
  fault.call = TRY(fields.text("call", kMaxFaultText));
  if (fault.call != "*" && !is_call(fault.call)) {
    return fields.wrong("call", "* or the name of a call, such as CreatePartition");
  }
  if (fields.has("partition")) fault.partition = TRY(fields.text("partition", kMaxFaultText));
  return {};
}

Status read_numbers(const Json& object, const Fields& fields, Fault& fault) {
  if (fields.has("skip")) fault.skip = TRY(fields.number("skip", 0, UINT32_MAX));
  if (fields.has("times")) fault.times = TRY(fields.number("times", 0, UINT32_MAX));
  if (!fields.has("probability")) return {};
  const Json& probability = object["probability"];
  fault.probability = probability.is_number() ? probability.get<double>() : -1;
  // Written so that NaN is refused too.
  if (fault.probability > 0 && fault.probability <= 1) return {};
  return fields.wrong("probability", "a number above 0, up to 1");
}

Status read_delay(const Fields& fields, Fault& fault) {
  if (!fields.has("delay")) {
    if (fault.action == Action::kDelay) return fields.wrong("delay", "given for action delay");
    return {};
  }
  const std::string text = TRY(fields.text("delay", kMaxFaultText));
  const Result<std::chrono::milliseconds> delay = base::parse_duration(text);
  if (!delay.ok()) return fields.wrong("delay", "a time such as 500ms or 2s");
  fault.delay = delay.value();
  return {};
}

Status read_status(const Fields& fields, Fault& fault) {
  if (fields.has("message")) fault.message = TRY(fields.text("message", kMaxFaultText));
  if (!fields.has("status")) {
    if (fault.action == Action::kStatus) return fields.wrong("status", "given for action status");
    return {};
  }
  if (fault.action != Action::kStatus && fault.action != Action::kLoseReply) {
    return fields.wrong("status", "for this action: it is for status and lose_reply");
  }
  const std::string name = TRY(fields.text("status", kMaxFaultText));
  fault.status = status_number(name).value_or(0);
  if (fault.status == 0) return fields.wrong("status", "a gRPC status other than OK");
  return {};
}

Status read_errors(const Fields& fields, Fault& fault) {
  if (!fields.has("errors")) {
    if (fault.action == Action::kErrorState) fault.errors = {"simulated fault"};
    return {};
  }
  if (fault.action != Action::kErrorState) {
    return fields.wrong("errors", "for this action: it is for error_state");
  }
  const Json* list = TRY(fields.array("errors", kMaxFaultErrors));
  for (const Json& text : *list) {
    const bool plain =
        text.is_string() && wire::is_plain_text(text.get_ref<const std::string&>(), kMaxFaultText);
    if (!plain) return fields.wrong("errors", "an array of texts");
    fault.errors.push_back(text.get<std::string>());
  }
  if (fault.errors.empty()) return fields.wrong("errors", "an array of at least one text");
  return {};
}

Result<Fault> parse_fault(const Json& object, size_t place) {
  const Fields fields = TRY(Fields::open(object, str("faults[", place, "]")));
  TRY(check_keys(object, fields,
                 {"call", "partition", "skip", "times", "probability", "action", "delay", "status",
                  "message", "errors"}));
  Fault fault;
  fault.action = static_cast<Action>(TRY(fields.choice("action", action_names())));
  TRY(read_call(fields, fault));
  TRY(read_numbers(object, fields, fault));
  TRY(read_delay(fields, fault));
  TRY(read_status(fields, fault));
  TRY(read_errors(fields, fault));
  const bool is_outcome =
      fault.action == Action::kErrorState || fault.action == Action::kStuckPending;
  if (is_outcome && fault.call != "*" && fault.call != "CreatePartition" &&
      fault.call != "ResetPartition") {
    return fields.wrong("call", "CreatePartition, ResetPartition or *, as this action needs");
  }
  return fault;
}

}  // namespace

const char* name_of(Action action) {
  switch (action) {
    case Action::kDelay:
      return "delay";
    case Action::kStatus:
      return "status";
    case Action::kHang:
      return "hang";
    case Action::kDropBefore:
      return "drop_before";
    case Action::kLoseReply:
      return "lose_reply";
    case Action::kDisconnect:
      return "disconnect";
    case Action::kGarbage:
      return "garbage";
    case Action::kErrorState:
      return "error_state";
    case Action::kStuckPending:
      return "stuck_pending";
  }
  return "";
}

bool is_call(std::string_view name) {
  return std::find(kCalls.begin(), kCalls.end(), name) != kCalls.end();
}

Result<FaultPlan> FaultPlan::parse(std::string_view text) {
  const Json json = TRY(base::parse_json(text, "fault plan"));
  const Fields fields = TRY(Fields::open(json, "fault plan"));
  TRY(check_keys(json, fields, {"seed", "faults"}));
  FaultPlan plan;
  if (fields.has("seed")) plan.random_.seed(TRY(fields.number("seed", 0, UINT32_MAX)));
  const Json* list = TRY(fields.array("faults", kMaxFaults));
  for (const Json& object : *list) {
    Fault fault = TRY(parse_fault(object, plan.faults_.size()));
    plan.faults_.push_back({std::move(fault)});
  }
  return plan;
}

}  // namespace vipu::simulator
