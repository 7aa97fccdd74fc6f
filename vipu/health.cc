// SPDX-License-Identifier: Apache-2.0
#include "vipu/health.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "vipu/wire_fields.h"

namespace vipu {
namespace {

using base::Json;
using namespace base::names;
using wire::Fields;

constexpr size_t kMaxListed = 4096;
constexpr size_t kMaxName = 256;

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Result<std::vector<Observation>> read_own(const Fields& fields,
                                          const std::vector<std::string>& ipus) {
  std::vector<Observation> seen;
  const Json* const listed = TRY(fields.array("ipus", kMaxListed));
  for (const Json& json : *listed) {
    const Fields ipu = TRY(Fields::open(json, "IPU"));
    Observation one;
    one.ipu = TRY(ipu.text("ipu", kMaxName));
    one.is_good = TRY(ipu.flag("good")) == wire::Flag::kYes;
    if (!one.is_good) one.reason = TRY(ipu.text("reason", kMaxName));
    if (contains(ipus, one.ipu)) seen.push_back(std::move(one));
  }
  return seen;
}

// Returns the IPUs that gc-monitor lists. It calls the number of an IPU on its machine "PCIe ID".
Result<std::set<std::string>> read_cards(const Fields& fields) {
  std::set<std::string> found;
  const Json* const cards = TRY(fields.array("cards", kMaxListed));
  for (const Json& json : *cards) {
    const Fields card = TRY(Fields::open(json, "card"));
    const std::string machine = TRY(card.text("IPU-M", kMaxName));
    const Json* const ipus = TRY(card.array("ipus", kMaxListed));
    for (const Json& one : *ipus) {
      const Fields ipu = TRY(Fields::open(one, "IPU"));
      found.insert(str(machine, ":", TRY(ipu.text("PCIe ID", kMaxName))));
    }
  }
  return found;
}

Result<std::vector<Observation>> read_gc_monitor(const Fields& fields,
                                                 const std::vector<std::string>& ipus) {
  const std::set<std::string> found = TRY(read_cards(fields));
  const bool is_any = std::any_of(ipus.begin(), ipus.end(),
                                  [&](const std::string& ipu) { return found.contains(ipu); });
  if (!is_any) {
    return Error(Code::kInvalid, "it lists no IPU of the pool; its partition may not be active");
  }
  std::vector<Observation> seen;
  for (const std::string& ipu : ipus) {
    if (found.contains(ipu)) {
      seen.push_back({ipu});
    } else {
      seen.push_back({ipu, false, "gc-monitor does not list it"});
    }
  }
  return seen;
}

}  // namespace

const char* name_of(Taint taint) {
  switch (taint) {
    case Taint::kNone:
      return "NONE";
    case Taint::kCheck:
      return "CHECK";
    case Taint::kOperator:
      break;
  }
  return "OPERATOR";
}

IpuHealth after(IpuHealth before, const Observation& observation, const Damping& damping,
                int64_t now_ms) {
  IpuHealth health = std::move(before);
  health.ipu = observation.ipu;
  health.seen += observation.is_good ? 'g' : 'b';
  if (health.seen.size() > damping.looks) health.seen.erase(0, health.seen.size() - damping.looks);
  if (!observation.is_good) health.bad_ms = now_ms;
  if (health.taint == Taint::kOperator) return health;
  const auto bad = static_cast<size_t>(std::count(health.seen.begin(), health.seen.end(), 'b'));
  if (!observation.is_good && bad >= damping.bad && health.taint == Taint::kNone) {
    health.taint = Taint::kCheck;
    health.since_ms = now_ms;
  }
  const bool has_held = now_ms - health.bad_ms >= damping.hold.count();
  if (observation.is_good && has_held && health.taint == Taint::kCheck) {
    health.taint = Taint::kNone;
    health.since_ms = now_ms;
    health.reason.clear();
  }
  if (!observation.is_good && health.taint == Taint::kCheck) health.reason = observation.reason;
  return health;
}

Result<std::vector<Observation>> parse_health(std::string_view text,
                                              const std::vector<std::string>& ipus) {
  const Json json = TRY(base::parse_json(text, "output"));
  const Fields fields = TRY(Fields::open(json, "output"));
  return fields.has("cards") ? read_gc_monitor(fields, ipus) : read_own(fields, ipus);
}

}  // namespace vipu
