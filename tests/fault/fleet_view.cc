// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/fleet_view.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/fault/places.h"
#include "tests/fault/program.h"

namespace fault {

using namespace base::names;
using base::Json;

namespace {

constexpr const char* kPrefix = "/ipu-container-toolkit/";
constexpr const char* kPool = "pod64";

Result<std::string> etcdctl(const std::vector<std::string>& args) {
  Program program{"/usr/bin/env",
                  {"ETCDCTL_API=3", "/usr/bin/etcdctl", "--endpoints", str("http://", kEtcd)}};
  program.args.insert(program.args.end(), args.begin(), args.end());
  const Ended ended = TRY(run(program));
  if (ended.succeeded()) return ended.out;
  return Error(Code::kUnavailable, str("etcdctl: ", base::one_line(ended.err, 300)));
}

Status put(const std::string& key, const Json& value) {
  return plant_key(key, base::to_text(value));
}

void add_grant(const std::string& id, const Json& json, FleetView& view) {
  FleetGrant grant;
  grant.id = id;
  grant.host = json["host"].get<std::string>();
  grant.container = json["container"].get<std::string>();
  grant.partition = json["partition"].get<std::string>();
  grant.tenant = json["tenant"].get<std::string>();
  grant.ipus = json["ipus"].get<uint32_t>();
  view.grants.push_back(std::move(grant));
}

void add_claim(const std::string& partition, const std::string& id, const Json& json,
               FleetView& view) {
  FleetClaim claim;
  claim.partition = partition;
  claim.id = id;
  claim.host = json["host"].get<std::string>();
  claim.container = json["container"].get<std::string>();
  claim.gcd = json["gcd"].get<uint32_t>();
  claim.gcds = json["gcds"].get<uint32_t>();
  claim.uses = json["uses"].get<bool>();
  claim.is_reset = !json["process"].get<std::string>().empty();
  view.claims.push_back(std::move(claim));
}

void add_record(const std::string& name, const Json& json, FleetView& view) {
  view.partitions[name] = {json["phase"].get<std::string>(), json["dirty"].get<bool>(),
                           json["shared"].get<bool>()};
}

// Of the kinds whose values say nothing that matters here.
bool is_plain_kind(const std::vector<std::string_view>& parts) {
  const std::set<std::string_view> kinds = {"meta",  "hosts", "fences",  "alive",
                                            "turns", "usage", "fencing", "marks"};
  return kinds.contains(parts[0]) ||
         (parts.size() == 3 && parts[0] == "warm" && parts[2] == "turn");
}

// KEY is below the prefix.
Status read_key(std::string_view key, const std::string& value, FleetView& view) {
  const std::vector<std::string_view> parts = base::split(key, '/');
  const auto is = [&](std::string_view kind, size_t count) {
    return parts[0] == kind && parts.size() == count;
  };
  if (parts[0] == "meta" && parts.size() > 1) view.is_open = true;
  if (is("importing", 1)) view.is_imported = true;
  if (is("fences", 2)) view.fenced.emplace_back(parts[1]);
  if (is("alive", 2)) view.alive.emplace_back(parts[1]);
  if (is("restored", 2)) view.untold.emplace_back(parts[1]);
  if (is("tenants", 2)) view.tenants[std::string(parts[1])] = value;
  const bool is_told = is("importing", 1) || is("restored", 2) || is("tenants", 2);
  if (is_told || is_plain_kind(parts)) return {};
  const Json json = TRY(base::parse_json(value, "value of etcd"));
  const bool is_record = is("partitions", 4) && parts[3] == "record";
  const bool is_claim = is("partitions", 5) && parts[3] == "claims";
  if (is_record) {
    add_record(std::string(parts[2]), json, view);
  } else if (is_claim) {
    add_claim(std::string(parts[2]), std::string(parts[4]), json, view);
  } else if (is("warm", 3)) {
    view.warm[std::string(parts[2])] = json["phase"].get<std::string>();
  } else if (is("queue", 4)) {
    view.waiting.push_back(json["container"].get<std::string>());
  } else if (is("grants", 3)) {
    add_grant(std::string(parts[2]), json, view);
  } else {
    view.strange.emplace_back(key);
  }
  return {};
}

}  // namespace

const FleetPartition* FleetView::find(const std::string& name) const {
  const auto at = partitions.find(name);
  return at == partitions.end() ? nullptr : &at->second;
}

const FleetClaim* FleetView::claim(const std::string& id) const {
  const auto at = std::find_if(claims.begin(), claims.end(),
                               [&](const FleetClaim& one) { return one.id == id; });
  return at == claims.end() ? nullptr : &*at;
}

Result<FleetView> read_fleet() {
  const std::string text = TRY(etcdctl({"get", "--prefix", kPrefix}));
  const std::vector<std::string_view> lines = base::split(text, '\n');
  FleetView view;
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {
    const std::string_view key = lines[i].substr(std::string_view(kPrefix).size());
    TRY(read_key(key, std::string(lines[i + 1]), view));
  }
  if (view.is_imported) view.is_open = false;
  return view;
}

Status clear_fleet() {
  TRY(etcdctl({"del", "--prefix", kPrefix}));
  return {};
}

Status plant_key(const std::string& key, const std::string& value) {
  TRY(etcdctl({"put", str(kPrefix, key), value}));
  return {};
}

Status remove_key(const std::string& key) {
  TRY(etcdctl({"del", str(kPrefix, key)}));
  return {};
}

Status put_dead_host(const std::string& partition) {
  const std::string host = str("hosts/", kDeadHost);
  TRY(put(host, Json{{"name", "dead"},
                     {"identity", "0123456789abcdef"},
                     {"version", "0"},
                     {"boot", "11111111-2222-3333-4444-555555555555"},
                     {"since_ms", 1},
                     {"seen_ms", 1}}));
  return put(str("partitions/", kPool, "/", partition, "/claims/of-the-dead"),
             Json{{"host", kDeadHost},
                  {"container", "dead"},
                  {"process", ""},
                  {"gcd", 0},
                  {"gcds", 1},
                  {"uses", true}});
}

}  // namespace fault
