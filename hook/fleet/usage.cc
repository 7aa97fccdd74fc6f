// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/usage.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"
#include "vipu/wire_fields.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using base::Json;
using vipu::wire::Fields;

constexpr int64_t kDayMs = 86'400'000;
constexpr size_t kDayLength = 10;  // "2026-11-26"
constexpr size_t kMostItems = 1024;
constexpr size_t kMaxCause = 200;
constexpr size_t kMaxName = 64;
constexpr size_t kMostDeletes = 100;
// Of the bytes of a part.
constexpr size_t kForLines = kMaxUsagePart / 2;
constexpr size_t kForRefusals = kMaxUsagePart / 4;
constexpr size_t kForPools = kMaxUsagePart / 16;
constexpr size_t kForRooms = kMaxUsagePart / 16;

std::string day_prefix(const std::string& prefix, int64_t day) {
  return str(prefix, "usage/", day_text(day), '/');
}

std::string cut(const std::string& text, size_t max) { return base::one_line(text, max); }

Json to_json(const UsageLine& line) {
  Json json = {{"tenant", cut(line.tenant, kMaxName)},
               {"user", cut(line.user, kMaxName)},
               {"pool", cut(line.pool, kMaxName)},
               {"held", line.held},
               {"reserved", line.reserved},
               {"ended", line.ended},
               {"waits", line.waits.to_text()}};
  if (line.measured == 0) return json;  // the hosts of a site without a monitor lose no room
  json["measured"] = line.measured;
  json["busy"] = line.busy;
  return json;
}

Json to_json(const UsageRefusal& refusal) {
  return {{"tenant", cut(refusal.tenant, kMaxName)},
          {"user", cut(refusal.user, kMaxName)},
          {"pool", cut(refusal.pool, kMaxName)},
          {"cause", cut(refusal.cause, kMaxCause)},
          {"count", refusal.count}};
}

void add(UsageLine& sum, const UsageLine& line) {
  sum.held += line.held;
  sum.reserved += line.reserved;
  sum.ended += line.ended;
  sum.waits.add(line.waits);
  sum.measured += line.measured;
  sum.busy += line.busy;
}

void add(UsageRefusal& sum, const UsageRefusal& refusal) { sum.count += refusal.count; }

int64_t weight(const UsageLine& line) { return line.held + line.reserved; }
int64_t weight(const UsageRefusal& refusal) { return refusal.count; }

// Returns ALL as JSON, the heaviest first, and what has no room in MAX bytes as one sum, OTHERS.
template <typename Item>
Json fitted(std::vector<Item> all, size_t max, Item others) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Item& one, const Item& other) { return weight(one) > weight(other); });
  Json list = Json::array();
  size_t size = 0;
  bool is_full = false;
  for (const Item& one : all) {
    Json json = to_json(one);
    size += base::to_text(json).size() + 1;
    is_full = is_full || size > max || list.size() + 1 == kMostItems;
    if (is_full) add(others, one);
    if (!is_full) list.push_back(std::move(json));
  }
  if (is_full) list.push_back(to_json(others));
  return list;
}

Json pools_json(const std::map<std::string, UsagePool>& pools) {
  Json list = Json::array();
  size_t size = 0;
  for (const auto& [name, pool] : pools) {
    Json json = {{"pool", cut(name, kMaxName)}, {"ipus", pool.ipus}, {"shared", pool.shared}};
    size += base::to_text(json).size() + 1;
    if (size > kForPools) break;  // its size is then not known
    list.push_back(std::move(json));
  }
  return list;
}

Json rooms_json(const std::vector<UsageRoom>& rooms) {
  Json list = Json::array();
  size_t size = 0;
  for (const UsageRoom& room : rooms) {
    Json json = {{"pool", cut(room.pool, kMaxName)},
                 {"measured_ms", room.measured_ms},
                 {"free", room.free},
                 {"largest", room.largest},
                 {"worst_ms", room.worst_ms},
                 {"worst_free", room.worst_free},
                 {"worst_largest", room.worst_largest}};
    size += base::to_text(json).size() + 1;
    if (size > kForRooms) break;
    list.push_back(std::move(json));
  }
  return list;
}

std::string text_of(const UsagePart& part) {
  UsageLine line;
  line.tenant = line.user = kNameOfOthers;
  UsageRefusal refusal;
  refusal.tenant = refusal.user = kNameOfOthers;
  return base::to_text(Json{{"name", cut(part.name, kMaxName)},
                            {"at_ms", part.at_ms},
                            {"lines", fitted(part.lines, kForLines, std::move(line))},
                            {"refusals", fitted(part.refusals, kForRefusals, std::move(refusal))},
                            {"pools", pools_json(part.pools)},
                            {"rooms", rooms_json(part.rooms)}});
}

Result<UsageLine> read_line(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "usage"));
  UsageLine line;
  line.tenant = TRY(fields.text("tenant", kMaxWord));
  line.user = TRY(fields.text("user", kMaxWord));
  line.pool = TRY(fields.text("pool", kMaxWord));
  line.held = TRY(fields.large_number("held", kLatestMs));
  line.reserved = TRY(fields.large_number("reserved", kLatestMs));
  line.ended = TRY(fields.large_number("ended", kLatestMs));
  const std::string waits = TRY(fields.text("waits", base::Histogram::kMaxText));
  line.waits = TRY(base::Histogram::parse(waits));
  if (!fields.has("measured")) return line;  // none, or of an earlier release
  line.measured = TRY(fields.large_number("measured", kLatestMs));
  line.busy = TRY(fields.large_number("busy", line.measured));
  return line;
}

Result<UsageRefusal> read_refusal(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "usage"));
  UsageRefusal refusal;
  refusal.tenant = TRY(fields.text("tenant", kMaxWord));
  refusal.user = TRY(fields.text("user", kMaxWord));
  refusal.pool = TRY(fields.text("pool", kMaxWord));
  refusal.cause = TRY(fields.text("cause", kMaxWord));
  refusal.count = TRY(fields.large_number("count", kLatestMs));
  return refusal;
}

Status read_pool(const Json& json, std::map<std::string, UsagePool>& pools) {
  const Fields fields = TRY(Fields::open(json, "usage"));
  const std::string name = TRY(fields.text("pool", kMaxWord));
  pools[name].ipus = TRY(fields.large_number("ipus", kMostIpus));
  pools[name].shared = TRY(read_flag(fields, "shared"));
  return {};
}

Result<UsageRoom> read_room(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "usage"));
  UsageRoom room;
  room.pool = TRY(fields.text("pool", kMaxWord));
  room.measured_ms = TRY(fields.large_number("measured_ms", kLatestMs));
  room.free = TRY(fields.large_number("free", kLatestMs));
  room.largest = TRY(fields.large_number("largest", kLatestMs));
  room.worst_ms = TRY(fields.large_number("worst_ms", kLatestMs));
  room.worst_free = TRY(fields.large_number("worst_free", kMostIpus));
  room.worst_largest = TRY(fields.large_number("worst_largest", kMostIpus));
  return room;
}

// BELOW is what the key has below its day: "TAG/EPOCH".
Result<UsagePart> read_part(std::string_view below, const std::string& value) {
  const std::vector<std::string_view> parts = base::split(below, '/');
  if (parts.size() != 2) return Error(Code::kInvalid, "no such key");
  const Json json = TRY(base::parse_json(value, "usage"));
  const Fields fields = TRY(Fields::open(json, "usage"));
  UsagePart part;
  part.host = parts[0];
  part.epoch = parts[1];
  part.name = TRY(fields.text("name", kMaxWord));
  part.at_ms = TRY(fields.large_number("at_ms", kLatestMs));
  const Json* const lines = TRY(fields.array("lines", kMostItems));
  const Json* const refusals = TRY(fields.array("refusals", kMostItems));
  const Json* const pools = TRY(fields.array("pools", kMostItems));
  const Json* const rooms = TRY(fields.array("rooms", kMostItems));
  for (const Json& one : *lines) part.lines.push_back(TRY(read_line(one)));
  for (const Json& one : *refusals) part.refusals.push_back(TRY(read_refusal(one)));
  for (const Json& one : *pools) TRY(read_pool(one, part.pools));
  for (const Json& one : *rooms) part.rooms.push_back(TRY(read_room(one)));
  return part;
}

}  // namespace

std::string day_text(int64_t day) { return base::rfc3339(day * kDayMs).substr(0, kDayLength); }

Status write_usage(const Fleet& fleet, const UsagePart& part) {
  Txn txn;
  txn.puts = {{str(day_prefix(fleet.prefix, part.day), part.host, '/', part.epoch), text_of(part)}};
  TRY(commit_if_known(fleet, std::move(txn)));
  return {};
}

Result<std::vector<UsagePart>> read_usage(const Fleet& fleet, int64_t day,
                                          std::vector<Error>& obstacles) {
  const std::string prefix = day_prefix(fleet.prefix, day);
  const Listing listing = TRY(fleet.store.list(prefix, fleet.deadline));
  std::vector<UsagePart> all;
  for (const KeyValue& key : listing.keys) {
    Result<UsagePart> part = read_part(std::string_view(key.key).substr(prefix.size()), key.value);
    if (!part.ok()) {
      obstacles.push_back(something_else(key.key));
      continue;
    }
    all.push_back(std::move(part).take());
    all.back().day = day;
  }
  return all;
}

Status forget_usage(const Fleet& fleet, int64_t day) {
  const Listing listing = TRY(fleet.store.list(day_prefix(fleet.prefix, day), fleet.deadline));
  Txn txn;
  for (const KeyValue& key : listing.keys) {
    txn.deletes.push_back(key.key);
    if (txn.deletes.size() < kMostDeletes) continue;
    TRY(fleet.store.commit(txn, fleet.deadline));
    txn = {};
  }
  if (!txn.deletes.empty()) TRY(fleet.store.commit(txn, fleet.deadline));
  return {};
}

}  // namespace hook::fleet
