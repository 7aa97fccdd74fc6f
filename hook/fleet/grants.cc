// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/grants.h"

#include <algorithm>
#include <utility>

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

constexpr uint32_t kNoLimit = UINT32_MAX;

std::string grant_key(const std::string& prefix, const std::string& pool, const std::string& id) {
  return str(grants_prefix(prefix), pool, '/', id);
}

std::string tenant_key(const std::string& prefix, const std::string& name) {
  return str(prefix, "tenants/", name);
}

std::string turn_key(const std::string& prefix, const std::string& tenant) {
  return str(prefix, "turns/", tenant);
}

std::string text_of(const Grant& grant) {
  return base::to_text(Json{{"host", grant.host},
                            {"container", grant.container},
                            {"reservation", grant.reservation},
                            {"tenant", grant.tenant},
                            {"partition", grant.partition},
                            {"source", grant.source},
                            {"ipus", grant.ipus},
                            {"since_ms", grant.since_ms}});
}

Result<Grant> read_grant(const std::string& prefix, const KeyValue& key) {
  const std::string_view below = std::string_view(key.key).substr(grants_prefix(prefix).size());
  const std::vector<std::string_view> parts = base::split(below, '/');
  if (parts.size() != 2) return something_else(key.key);
  const Json json = TRY(base::parse_json(key.value, "grant"));
  const Fields fields = TRY(Fields::open(json, "grant"));
  Grant grant;
  grant.pool = parts[0];
  grant.id = parts[1];
  grant.host = TRY(fields.text("host", kMaxWord));
  grant.container = TRY(fields.text("container", kMaxWord));
  grant.reservation = TRY(fields.text("reservation", kMaxWord));
  grant.tenant = TRY(fields.text("tenant", kMaxWord));
  if (fields.has("partition")) grant.partition = TRY(fields.text("partition", kMaxWord));
  if (fields.has("source")) grant.source = TRY(fields.text("source", kMaxWord));
  grant.ipus = TRY(fields.number("ipus", 0, kMostIpus));
  grant.since_ms = TRY(fields.large_number("since_ms", kLatestMs));
  return grant;
}

std::string text_of(const config::TenantConfig& tenant) {
  Json json = {{"guaranteed", tenant.guaranteed},
               {"limit", tenant.limit},
               {"max_waiters", tenant.max_waiters},
               {"may_reserve", tenant.may_reserve},
               {"borrow_time_ms", tenant.borrow_time.count()}};
  if (tenant.max_wait) json["max_wait_ms"] = tenant.max_wait->count();
  if (!tenant.allocation.empty()) json["allocation"] = tenant.allocation;
  return base::to_text(json);
}

Result<config::TenantConfig> read_tenant(const KeyValue& key) {
  const Json json = TRY(base::parse_json(key.value, "tenant"));
  const Fields fields = TRY(Fields::open(json, "tenant"));
  config::TenantConfig tenant;
  tenant.name = key.key.substr(key.key.rfind('/') + 1);
  tenant.guaranteed = TRY(fields.number("guaranteed", 0, kMostIpus));
  tenant.limit = TRY(fields.number("limit", 0, kNoLimit));
  tenant.max_waiters = TRY(fields.number("max_waiters", 0, UINT32_MAX));
  tenant.may_reserve = TRY(read_flag(fields, "may_reserve"));
  tenant.borrow_time =
      std::chrono::milliseconds(TRY(fields.large_number("borrow_time_ms", kLatestMs)));
  if (fields.has("allocation")) tenant.allocation = TRY(fields.text("allocation", kMaxWord));
  if (!fields.has("max_wait_ms")) return tenant;
  tenant.max_wait = std::chrono::milliseconds(TRY(fields.large_number("max_wait_ms", kLatestMs)));
  return tenant;
}

// Returns whether a share that cannot be read may say an allocation.
bool may_have_allocation(const KeyValue& key) {
  const Result<Json> json = base::parse_json(key.value, "tenant");
  return !json.ok() || !json.value().is_object() || json.value().contains("allocation");
}

struct GrantKeys {
  std::vector<Grant> grants;  // oldest first
  std::vector<KeyValue> unreadable;
};

Result<GrantKeys> read_grants(const Fleet& fleet) {
  Listing listing = TRY(fleet.store.list(grants_prefix(fleet.prefix), fleet.deadline));
  GrantKeys read;
  for (KeyValue& key : listing.keys) {
    Result<Grant> grant = read_grant(fleet.prefix, key);
    if (grant.ok()) read.grants.push_back(std::move(grant).take());
    if (!grant.ok()) read.unreadable.push_back(std::move(key));
  }
  std::stable_sort(
      read.grants.begin(), read.grants.end(),
      [](const Grant& one, const Grant& other) { return one.since_ms < other.since_ms; });
  return read;
}

Status check_fenced(const Fleet& fleet, const TxnResult& result, const std::string& host) {
  const std::string fence = fence_key(fleet.prefix, host);
  for (const KeyValue& one : result.found)
    if (one.key == fence) return fenced(host);
  return {};
}

// Returns whether TXN, which makes GRANT with WARM's partition, was carried out, now or by an
// earlier attempt. The grant of such an attempt stays: it may say which partition was taken.
Result<bool> make(const Fleet& fleet, Txn txn, const Grant& grant, const Warm* warm = nullptr) {
  const std::string key = grant_key(fleet.prefix, grant.pool, grant.id);
  txn.compares.push_back({fence_key(fleet.prefix, grant.host), Compare::What::kCreated, 0});
  txn.compares.push_back({key, Compare::What::kCreated, 0});
  txn.puts.push_back({key, text_of(grant)});
  const std::string taken = warm_key(fleet.prefix, grant.pool, grant.partition);
  if (warm != nullptr) txn.compares.push_back({taken, Compare::What::kModified, warm->modified});
  if (!grant.partition.empty()) txn.deletes.push_back(taken);
  const TxnResult result = TRY(commit_if_known(fleet, std::move(txn)));
  if (result.done) return true;
  TRY(check_fenced(fleet, result, grant.host));
  for (const KeyValue& one : result.found) {
    if (one.key != key) continue;
    const Result<Grant> before = read_grant(fleet.prefix, one);
    return before.ok() && before.value().partition == grant.partition;
  }
  return false;
}

// Compares KEY with what was seen of it, by its NAME.
Compare as_seen(const std::string& key, const std::map<std::string, int64_t>& revisions,
                const std::string& name) {
  const auto at = revisions.find(name);
  if (at == revisions.end()) return {key, Compare::What::kCreated, 0};
  return {key, Compare::What::kModified, at->second};
}

// Returns the IPUs of a grant that cannot be read, if it does not say whose they are.
uint32_t unowned_ipus(const KeyValue& grant) {
  const Result<Json> json = base::parse_json(grant.value, "grant");
  if (!json.ok() || base::get_string(json.value(), "tenant", "grant").ok()) return 0;
  const Result<int64_t> ipus = base::get_int(json.value(), "ipus", "grant");
  const bool is_known = ipus.ok() && ipus.value() > 0 && ipus.value() <= int64_t{kMostIpus};
  return is_known ? static_cast<uint32_t>(ipus.value()) : 0;
}

// Returns the keys below PREFIX by their last part.
Result<std::map<std::string, int64_t>> revisions_of(const Fleet& fleet, const std::string& prefix) {
  std::map<std::string, int64_t> revisions;
  const Listing listing = TRY(fleet.store.list(prefix, fleet.deadline));
  for (const KeyValue& key : listing.keys) revisions[key.key.substr(prefix.size())] = key.modified;
  return revisions;
}

}  // namespace

std::string grants_prefix(const std::string& prefix) { return prefix + "grants/"; }

Result<bool> grant_at_once(const Fleet& fleet, const Resource& resource, const Grant& grant,
                           const Warm* warm) {
  Txn txn;
  txn.compares = {{queue_prefix(fleet.prefix, resource), Compare::What::kNoneBelow, 0},
                  {tenant_key(fleet.prefix, ""), Compare::What::kNoneBelow, 0}};
  return make(fleet, std::move(txn), grant, warm);
}

Result<bool> grant_as_seen(const Fleet& fleet, const Resource& resource, const Grant& grant,
                           const Ticket* ticket, const Shares& shares, const Warm* warm) {
  Txn txn;
  if (ticket != nullptr) {
    txn.compares.push_back({ticket_key(fleet.prefix, resource, ticket->id),
                            Compare::What::kModified, ticket->modified});
  }
  take_turn(fleet, shares, grant.tenant, grant.id, txn);
  return make(fleet, std::move(txn), grant, warm);
}

void take_turn(const Fleet& fleet, const Shares& shares, const std::string& tenant,
               const std::string& id, Txn& txn) {
  if (shares.records.empty()) {
    txn.compares.push_back({tenant_key(fleet.prefix, ""), Compare::What::kNoneBelow, 0});
    return;
  }
  const std::string turn = turn_key(fleet.prefix, tenant);
  txn.compares.push_back(as_seen(turn, shares.turns, tenant));
  txn.compares.push_back(as_seen(tenant_key(fleet.prefix, tenant), shares.records, tenant));
  txn.compares.push_back(
      {tenant_key(fleet.prefix, ""), Compare::What::kNoneSince, shares.revision});
  txn.puts.push_back({turn, id});
}

Status grant_again(const Fleet& fleet, const Grant& grant) {
  const std::string key = grant_key(fleet.prefix, grant.pool, grant.id);
  Txn txn;
  const std::optional<KeyValue> found = TRY(find_key(fleet.store, key, fleet.deadline));
  // It may say more: the lease took a partition meanwhile.
  const bool is_there = found && read_grant(fleet.prefix, *found).ok();
  if (is_there && grant.partition.empty() && text_in(found->value, "host") == grant.host) return {};
  txn.compares = {unchanged(key, found),
                  {fence_key(fleet.prefix, grant.host), Compare::What::kCreated, 0}};
  txn.puts = {{key, text_of(grant)}};
  if (!grant.partition.empty()) txn.deletes = {warm_key(fleet.prefix, grant.pool, grant.partition)};
  const TxnResult result = TRY(commit_if_known(fleet, std::move(txn)));
  TRY(check_fenced(fleet, result, grant.host));
  if (result.done) return {};
  for (const KeyValue& one : result.found)
    if (one.key == key && one.value == text_of(grant)) return {};  // another process did it
  return Error(Code::kBusy, str("fleet: grant ", grant.id, " changes; try again"));
}

Result<int64_t> ungrant(const Fleet& fleet, const std::string& pool, const std::string& id) {
  Txn txn;
  txn.deletes = {grant_key(fleet.prefix, pool, id)};
  return TRY(fleet.store.commit(txn, fleet.deadline)).revision;
}

Status remove_grants_of(const Fleet& fleet, const std::string& host, Leaves leaves) {
  const std::string all = grants_prefix(fleet.prefix);
  if (leaves == Leaves::kNothing) return remove_keys_of(fleet, all, host);
  const Listing listing = TRY(fleet.store.list(all, fleet.deadline));
  for (const KeyValue& one : listing.keys) {
    if (text_in(one.value, "host") != host || !text_in(one.value, "partition").empty()) continue;
    Txn txn;
    txn.deletes = {one.key};
    TRY(fleet.store.commit(txn, fleet.deadline));
  }
  return {};
}

Result<std::optional<Grant>> find_grant(const Fleet& fleet, const std::string& pool,
                                        const std::string& id) {
  const std::string key = grant_key(fleet.prefix, pool, id);
  const std::optional<KeyValue> found = TRY(find_key(fleet.store, key, fleet.deadline));
  if (!found) return std::optional<Grant>();
  Result<Grant> grant = read_grant(fleet.prefix, *found);
  if (!grant.ok()) return something_else(key);
  return std::optional<Grant>(std::move(grant).take());
}

Result<std::vector<Grant>> list_grants(const Fleet& fleet, std::vector<Error>& obstacles) {
  GrantKeys read = TRY(read_grants(fleet));
  for (const KeyValue& key : read.unreadable) obstacles.push_back(something_else(key.key));
  return std::move(read.grants);
}

// What tenants claim of partitions that cannot be read is not known.
Status add_unreadable_claims(const Fleet& fleet, Shares& shares) {
  const std::string all = fleet.prefix + "partitions/";
  const Listing listing = TRY(fleet.store.list(all, fleet.deadline));
  for (const KeyValue& key : listing.keys) {
    const std::vector<std::string_view> parts =
        base::split(std::string_view(key.key).substr(all.size()), '/');
    if (parts.size() < 4 || parts[2] != "claims") continue;
    const PartitionName name{std::string(parts[0]), std::string(parts[1])};
    const bool is_read = std::any_of(shares.partitions.begin(), shares.partitions.end(),
                                     [&](const PartitionView& view) { return view.name == name; });
    if (!is_read) shares.unreadable.emplace(text_in(key.value, "tenant"), key.key);
  }
  return {};
}

Result<Shares> read_tenants(const Fleet& fleet) {
  Shares shares;
  const std::string all = tenant_key(fleet.prefix, "");
  const Listing tenants = TRY(fleet.store.list(all, fleet.deadline));
  shares.revision = tenants.revision;
  for (const KeyValue& key : tenants.keys) {
    Result<config::TenantConfig> tenant = read_tenant(key);
    const std::string name = key.key.substr(all.size());
    shares.records[name] = key.modified;
    if (tenant.ok()) shares.tenants.push_back(std::move(tenant).take());
    if (tenant.ok()) continue;
    shares.unreadable.emplace(name, key.key);
    if (may_have_allocation(key)) shares.unknown_walls.push_back(name);
  }
  return shares;
}

Result<Shares> read_shares(const Fleet& fleet) {
  // The turns before what tenants have: what they get in between changes a turn that was seen.
  Shares shares = TRY(read_tenants(fleet));
  if (shares.records.empty()) return shares;
  shares.turns = TRY(revisions_of(fleet, turn_key(fleet.prefix, "")));
  GrantKeys read = TRY(read_grants(fleet));
  shares.grants = std::move(read.grants);
  for (const KeyValue& key : read.unreadable) {
    shares.unreadable.emplace(text_in(key.value, "tenant"), key.key);
    shares.unowned += std::min(unowned_ipus(key), UINT32_MAX - shares.unowned);
  }
  std::vector<Error> obstacles;  // 'fleet check' says which partitions cannot be read
  shares.partitions = TRY(list_partitions(fleet, obstacles));
  if (!obstacles.empty()) TRY(add_unreadable_claims(fleet, shares));
  return shares;
}

Result<SeenTenant> find_tenant(const Fleet& fleet, const std::string& name) {
  const std::string key = tenant_key(fleet.prefix, name);
  const std::optional<KeyValue> found = TRY(find_key(fleet.store, key, fleet.deadline));
  if (!found) return SeenTenant{{name}};
  Result<config::TenantConfig> share = read_tenant(*found);
  if (!share.ok()) return something_else(key);
  return SeenTenant{std::move(share).take(), found->modified};
}

Result<bool> set_tenant(const Fleet& fleet, const config::TenantConfig& tenant, int64_t seen) {
  const std::string key = tenant_key(fleet.prefix, tenant.name);
  Txn txn;
  txn.compares = {{key, Compare::What::kModified, seen}};
  txn.puts = {{key, text_of(tenant)}};
  return TRY(commit_if_known(fleet, std::move(txn))).done;
}

Result<bool> remove_tenant(const Fleet& fleet, const std::string& name) {
  const std::string key = tenant_key(fleet.prefix, name);
  if (!TRY(find_key(fleet.store, key, fleet.deadline))) return false;
  Txn txn;
  txn.deletes = {key};
  TRY(fleet.store.commit(txn, fleet.deadline));
  return true;
}

}  // namespace hook::fleet
