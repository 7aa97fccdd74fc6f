// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/fleet_view.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/fault/places.h"

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
  TRY(etcdctl({"put", str(kPrefix, key), base::to_text(value)}));
  return {};
}

// KEY is below the prefix.
Status read_key(std::string_view key, const std::string& value, FleetView& view) {
  const std::vector<std::string_view> parts = base::split(key, '/');
  if (parts.size() == 2 && parts[0] == "fences") view.fenced.emplace_back(parts[1]);
  if (parts.size() == 2 && parts[0] == "alive") view.alive.emplace_back(parts[1]);
  const bool is_warm = parts.size() == 3 && parts[0] == "warm" && parts[2] != "turn";
  const bool is_grant = parts.size() == 3 && parts[0] == "grants";
  const bool is_named = parts.size() >= 4 && parts[0] == "partitions";
  const bool is_place = parts.size() == 4 && parts[0] == "queue";
  if (!is_warm && !is_grant && !is_named && !is_place) return {};
  const Json json = TRY(base::parse_json(value, "value of etcd"));
  if (is_warm) view.warm[std::string(parts[2])] = json["phase"].get<std::string>();
  if (is_place) view.waiting.push_back(json["container"].get<std::string>());
  if (is_grant) {
    view.grants.push_back({std::string(parts[2]), json["host"].get<std::string>(),
                           json["container"].get<std::string>(),
                           json["partition"].get<std::string>()});
  }
  if (!is_named) return {};
  const std::string name(parts[2]);
  if (parts[3] == "record") view.partitions[name] = json["phase"].get<std::string>();
  if (parts.size() == 5)
    view.claims.push_back({name, std::string(parts[4]), json["host"].get<std::string>()});
  return {};
}

}  // namespace

Result<FleetView> read_fleet() {
  const std::string text = TRY(etcdctl({"get", "--prefix", kPrefix}));
  const std::vector<std::string_view> lines = base::split(text, '\n');
  FleetView view;
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {
    const std::string_view key = lines[i].substr(std::string_view(kPrefix).size());
    TRY(read_key(key, std::string(lines[i + 1]), view));
  }
  return view;
}

Status clear_fleet() {
  TRY(etcdctl({"del", "--prefix", kPrefix}));
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

std::set<std::string> warm_names(const FleetView& view) {
  std::set<std::string> names;
  for (const auto& [name, phase] : view.warm) names.insert(name);
  for (const FleetGrant& grant : view.grants) names.insert(grant.partition);
  return names;
}

Status inspect_claims(const FleetView& view, Findings& findings) {
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  for (const FleetClaim& claim : view.claims) {
    if (claim.host == kDeadHost) continue;
    const LeaseRow* const lease = ledger ? ledger->find(claim.id) : nullptr;
    if (lease != nullptr && lease->live && lease->partition == claim.partition) continue;
    findings.violations.push_back(str("no live lease leads to claim ", claim.id));
  }
  for (const FleetGrant& grant : view.grants) {
    const LeaseRow* const lease = ledger ? ledger->find(grant.id) : nullptr;
    const bool is_reserved =
        ledger && grant.container.empty() && ledger->leads_to_partition(grant.id);
    if (!is_reserved && (lease == nullptr || !lease->live))
      findings.violations.push_back(str("no live lease leads to grant ", grant.id));
    if (view.warm.contains(grant.partition))
      findings.violations.push_back(str(grant.partition, " is granted, and kept warm"));
  }
  return {};
}

Status inspect_fleet_rest(const FleetView& view, Findings& findings) {
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  std::vector<std::string>& found = findings.violations;
  std::set<std::string> named;
  for (const PartitionRow& row : ledger ? ledger->partitions : std::vector<PartitionRow>())
    if (row.kind == "NAMED" && !row.name.starts_with("r-")) named.insert(row.name);
  for (const std::string& name : named)
    if (!view.partitions.contains(name)) found.push_back(str("the fleet has no partition ", name));
  for (const auto& [name, phase] : view.partitions) {
    if (!named.contains(name)) found.push_back(str("left in the fleet: partition ", name));
    if (phase != "READY") found.push_back(str("in the fleet, partition ", name, " is ", phase));
  }
  for (const FleetClaim& claim : view.claims)
    found.push_back(str("left in the fleet: claim ", claim.id, " of host ", claim.host));
  for (const auto& [name, phase] : view.warm)
    if (phase != "idle") found.push_back(str("in the fleet, warm partition ", name, " is ", phase));
  for (const FleetGrant& grant : view.grants) {
    const bool is_reserved =
        ledger && grant.container.empty() && ledger->leads_to_partition(grant.id);
    if (grant.container != kBystanderName && !is_reserved)
      found.push_back(
          str("left in the fleet: grant ", grant.id, " of container ", grant.container));
  }
  for (const std::string& who : view.waiting)
    found.push_back(str("left in the fleet: the place of ", who));
  return {};
}

}  // namespace fault
