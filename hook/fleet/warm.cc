// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/warm.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/keys.h"
#include "hook/fleet/marks.h"
#include "hook/fleet/restored.h"
#include "vipu/made_name.h"
#include "vipu/wire_fields.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using base::Json;
using vipu::wire::Fields;

constexpr const char* kTurn = "turn";  // no name of a partition of ours
// Each attempt fails only if another host changed the same key, or imported, in the same moment.
constexpr int kMostChanges = 50;

const std::vector<std::string>& phases() {
  static const std::vector<std::string> names = {"making", "idle", "removing"};
  return names;
}

std::string text_of(const Warm& warm) {
  return base::to_text(Json{{"maker", warm.maker},
                            {"phase", phases()[static_cast<size_t>(warm.phase)]},
                            {"changer", warm.changer},
                            {"source", warm.kind.source},
                            {"allocation", warm.kind.allocation},
                            {"cluster", warm.kind.cluster},
                            {"ipus", warm.kind.ipus},
                            {"since_ms", warm.since_ms}});
}

Result<Warm> read_warm(const std::string& prefix, const KeyValue& key) {
  const std::string_view below = std::string_view(key.key).substr(warm_prefix(prefix).size());
  const std::vector<std::string_view> parts = base::split(below, '/');
  if (parts.size() != 2) return something_else(key.key);
  const Json json = TRY(base::parse_json(key.value, "warm partition"));
  const Fields fields = TRY(Fields::open(json, "warm partition"));
  Warm warm;
  warm.kind.pool = parts[0];
  warm.name = parts[1];
  // Whoever reads it gives it to a container, or removes it by force.
  if (!vipu::is_of_fleet(warm.name)) return something_else(key.key);
  warm.maker = TRY(fields.text("maker", kMaxWord));
  warm.phase = static_cast<WarmPhase>(TRY(fields.choice("phase", phases())));
  warm.changer = TRY(fields.text("changer", kMaxWord));
  warm.kind.source = TRY(fields.text("source", kMaxWord));
  warm.kind.allocation = TRY(fields.text("allocation", kMaxWord));
  warm.kind.cluster = TRY(fields.text("cluster", kMaxWord));
  warm.kind.ipus = TRY(fields.number("ipus", 1, kMostIpus));
  if (!config::is_controller(warm.kind.source)) return something_else(key.key);
  warm.since_ms = TRY(base::get_int(json, "since_ms", "warm partition"));
  warm.modified = key.modified;
  return warm;
}

std::string turn_key(const std::string& prefix, const std::string& pool) {
  return warm_key(prefix, pool, kTurn);
}

bool is_turn(const std::string& key) { return key.ends_with(str('/', kTurn)); }

Compare not_fenced(const Fleet& fleet, const std::string& host) {
  return {fence_key(fleet.prefix, host), Compare::What::kCreated, 0};
}

// Carries out TXN, by HOST. Returns whether it was carried out.
Result<bool> commit_by(const Fleet& fleet, Txn txn, const std::string& host) {
  txn.compares.push_back(not_fenced(fleet, host));
  const TxnResult result = TRY(commit_if_known(fleet, std::move(txn)));
  for (const KeyValue& one : result.found)
    if (one.key == fence_key(fleet.prefix, host)) return fenced(host);
  return result.done;
}

Put put_of(const Fleet& fleet, const Warm& warm) {
  return {warm_key(fleet.prefix, warm.kind.pool, warm.name), text_of(warm)};
}

// What the store says of a partition.
struct Seen {
  WarmFate fate = WarmFate::kNobody;
  Warm warm = {};                      // of kOwn
  std::optional<KeyValue> other = {};  // of kOthers, if it is another container's: its grant
  std::optional<KeyValue> own = {};    // the given grant, if it names the partition
};

// Looks at the grants alone. One that names the partition may be unreadable otherwise. One that is
// no JSON object may name any, and nobody can say whose the partition is while it is there.
Result<Seen> look_at_grants(const Fleet& fleet, const std::string& pool, const std::string& name,
                            const std::string& own) {
  const std::string below = str(grants_prefix(fleet.prefix), pool, '/');
  const Listing grants = TRY(fleet.store.list(below, fleet.deadline));
  Seen seen;
  for (const KeyValue& grant : grants.keys) {
    const Result<Json> json = base::parse_json(grant.value, "grant");
    if (!json.ok() || !json.value().is_object()) return something_else(grant.key);
    if (text_in(grant.value, "partition") != name) continue;
    (grant.key == below + own ? seen.own : seen.other) = grant;
  }
  if (seen.own) seen.fate = WarmFate::kTaken;
  if (seen.other) seen.fate = WarmFate::kOthers;
  return seen;
}

Result<Seen> look(const Fleet& fleet, const std::string& pool, const std::string& name,
                  const std::string& me, const std::string& own) {
  const std::string key = warm_key(fleet.prefix, pool, name);
  const std::optional<KeyValue> found = TRY(find_key(fleet.store, key, fleet.deadline));
  // The key before the grants: whoever takes it makes the one go and the other come at once.
  if (!found) return look_at_grants(fleet, pool, name, own);
  Result<Warm> warm = read_warm(fleet.prefix, *found);
  if (!warm.ok()) return something_else(key);
  const bool is_others = warm.value().phase == WarmPhase::kMaking && warm.value().changer != me;
  Seen seen;
  seen.fate = is_others ? WarmFate::kOthers : WarmFate::kOwn;
  seen.warm = std::move(warm).take();
  return seen;
}

// Returns whether COMPARE holds, and the store has known whose partition is whose since the keys of
// hosts that had not told were read as UNTOLD, before the grants: it did not go back, and each host
// had told. Otherwise a grant may have come back after the grants were read. Fails if the store
// does not know it now, either.
Result<bool> holds_for_all(const Fleet& fleet, const Listing& untold, const Compare& compare,
                           const std::string& me) {
  Txn txn;
  txn.compares = {compare};
  require_all_told(fleet, txn);
  require_no_restore(fleet, untold.revision, txn);
  const Result<TxnResult> result = commit_if_known(fleet, std::move(txn));
  // A host that was fenced cannot do what a store that went back asks of it.
  const std::string fence = fence_key(fleet.prefix, me);
  if (!result.ok() && TRY(find_key(fleet.store, fence, fleet.deadline))) return fenced(me);
  const TxnResult found = TRY(result);
  if (!found.done) TRY(check_told(fleet, found));
  return found.done && untold.keys.empty();
}

// Gives the partition to the other container for good. Of two that leave it to each other, one
// fails, and looks again.
Result<bool> leave_to_other(const Fleet& fleet, const Seen& seen) {
  if (!seen.other || !seen.own) return true;
  Txn txn;
  txn.compares = {{seen.other->key, Compare::What::kModified, seen.other->modified}};
  txn.deletes = {seen.own->key};
  return TRY(fleet.store.commit(txn, fleet.deadline)).done;
}

}  // namespace

WarmKind warm_kind(const config::PoolConfig& pool, uint32_t ipus) {
  return {pool.name, config::source_of(pool), pool.allocation, pool.cluster, ipus};
}

std::string warm_prefix(const std::string& prefix) { return prefix + "warm/"; }

std::string warm_key(const std::string& prefix, const std::string& pool, const std::string& name) {
  return str(warm_prefix(prefix), pool, '/', name);
}

Result<std::vector<Warm>> list_warm(const Fleet& fleet, const std::string& pool,
                                    std::vector<Error>& obstacles) {
  const std::string below =
      pool.empty() ? warm_prefix(fleet.prefix) : warm_key(fleet.prefix, pool, "");
  const Listing listing = TRY(fleet.store.list(below, fleet.deadline));
  std::vector<Warm> all;
  for (const KeyValue& key : listing.keys) {
    if (is_turn(key.key)) continue;
    Result<Warm> warm = read_warm(fleet.prefix, key);
    if (warm.ok()) all.push_back(std::move(warm).take());
    if (!warm.ok()) obstacles.push_back(something_else(key.key));
  }
  std::stable_sort(all.begin(), all.end(), [](const Warm& one, const Warm& other) {
    return one.modified < other.modified;
  });
  return all;
}

Result<bool> begin_warm(const Fleet& fleet, const Warm& warm, uint32_t limit) {
  const std::string turn = turn_key(fleet.prefix, warm.kind.pool);
  for (int i = 0; i < kMostChanges; ++i) {
    // The turn before the places: one that is claimed in between changes a turn that was seen.
    const std::optional<KeyValue> seen = TRY(find_key(fleet.store, turn, fleet.deadline));
    std::vector<Error> obstacles;
    const std::vector<Warm> all = TRY(list_warm(fleet, warm.kind.pool, obstacles));
    if (!obstacles.empty()) return obstacles.front();
    const auto places = std::count_if(all.begin(), all.end(), [&](const Warm& one) {
      return one.kind == warm.kind && one.phase != WarmPhase::kRemoving;
    });
    if (places >= int64_t{limit}) return false;
    Txn txn;
    const Put put = put_of(fleet, warm);
    txn.compares = {unchanged(turn, seen), {put.key, Compare::What::kCreated, 0}};
    txn.puts = {put, {turn, warm.name}};
    if (TRY(commit_by(fleet, std::move(txn), warm.maker))) return true;
  }
  return Error(Code::kBusy, str("the fleet's warm partitions of pool ", quote(warm.kind.pool),
                                " change all the time; try again"));
}

Status finish_warm(const Fleet& fleet, const Warm& warm) {
  Warm idle = warm;
  idle.phase = WarmPhase::kIdle;
  idle.changer.clear();
  const Put put = put_of(fleet, idle);
  const std::optional<KeyValue> found = TRY(find_key(fleet.store, put.key, fleet.deadline));
  const Result<Warm> now = found ? read_warm(fleet.prefix, *found)
                                 : Result<Warm>(Error(Code::kNotFound, "it is forgotten"));
  const bool is_making =
      now.ok() && now.value().phase == WarmPhase::kMaking && now.value().changer == warm.maker;
  Txn txn;
  txn.compares = {unchanged(put.key, found)};
  txn.puts = {put};
  if (is_making && TRY(commit_by(fleet, std::move(txn), warm.maker))) return {};
  return Error(Code::kBusy, str("partition ", quote(warm.name), " of pool ", quote(warm.kind.pool),
                                " was made too late: the fleet does not wait for it any more"));
}

Result<bool> begin_warm_removal_as_seen(const Fleet& fleet, const Warm& warm,
                                        const std::string& me) {
  Warm removing = warm;
  removing.phase = WarmPhase::kRemoving;
  removing.changer = me;
  const Put put = put_of(fleet, removing);
  Txn txn;
  txn.compares = {{put.key, Compare::What::kModified, warm.modified}};
  txn.puts = {put};
  return commit_by(fleet, std::move(txn), me);
}

Result<WarmFate> warm_fate(const Fleet& fleet, const std::string& pool, const std::string& name,
                           const std::string& me, const std::string& own) {
  return TRY(look(fleet, pool, name, me, own)).fate;
}

Result<WarmFate> begin_warm_removal(const Fleet& fleet, const std::string& pool,
                                    const std::string& name, const std::string& me,
                                    const std::string& own) {
  for (int i = 0; i < kMostChanges; ++i) {
    const Listing untold = TRY(fleet.store.list(restored_prefix(fleet.prefix), fleet.deadline));
    const Seen seen = TRY(look(fleet, pool, name, me, own));
    bool is_settled = true;
    switch (seen.fate) {
      case WarmFate::kTaken:
        is_settled = TRY(holds_for_all(fleet, untold, unchanged(seen.own->key, seen.own), me));
        break;
      case WarmFate::kOwn:
        is_settled = TRY(begin_warm_removal_as_seen(fleet, seen.warm, me));
        break;
      case WarmFate::kOthers:
        is_settled = TRY(leave_to_other(fleet, seen));
        break;
      case WarmFate::kNobody:
        is_settled = TRY(holds_for_all(
            fleet, untold, {warm_key(fleet.prefix, pool, name), Compare::What::kCreated, 0}, me));
        break;
    }
    if (is_settled) return seen.fate;
  }
  return Error(Code::kBusy, str("the record of partition ", quote(name), " of pool ", quote(pool),
                                " changes all the time; try again"));
}

Status forget_warm(const Fleet& fleet, const std::string& pool, const std::string& name) {
  Txn txn;
  txn.deletes = {warm_key(fleet.prefix, pool, name)};
  TRY(fleet.store.commit(txn, fleet.deadline));
  return {};
}

Result<std::vector<PartitionName>> warm_of_host(const Fleet& fleet, const std::string& host) {
  std::vector<Error> obstacles;  // 'fleet check' says what cannot be read
  std::vector<PartitionName> names;
  for (const Warm& one : TRY(list_warm(fleet, "", obstacles)))
    if (one.changer == host) names.push_back({one.kind.pool, one.name});
  // Also grants that cannot be read otherwise: a fence removes them, too. What a container of
  // another host has as well, because the store went back, is for that one, unless it is fenced,
  // too.
  const std::string fences = fence_key(fleet.prefix, "");
  std::vector<std::string> dead;
  const Listing fenced_hosts = TRY(fleet.store.list(fences, fleet.deadline));
  for (const KeyValue& one : fenced_hosts.keys) dead.push_back(one.key.substr(fences.size()));
  const std::string all = grants_prefix(fleet.prefix);
  const Listing grants = TRY(fleet.store.list(all, fleet.deadline));
  std::vector<PartitionName> others;
  for (const KeyValue& one : grants.keys) {
    const std::string partition = text_in(one.value, "partition");
    if (!vipu::is_of_fleet(partition)) continue;
    const std::string below = one.key.substr(all.size());
    const std::string whose = text_in(one.value, "host");
    const bool is_dead = std::find(dead.begin(), dead.end(), whose) != dead.end();
    if (whose != host && is_dead) continue;
    (whose == host ? names : others).push_back({below.substr(0, below.find('/')), partition});
  }
  std::erase_if(names, [&](const PartitionName& name) {
    return std::find(others.begin(), others.end(), name) != others.end();
  });
  return names;
}

Status forget_warm_of_host(const Fleet& fleet, const std::string& host) {
  std::vector<Error> obstacles;  // 'fleet check' says what cannot be read
  const std::vector<Warm> all = TRY(list_warm(fleet, "", obstacles));
  for (const Warm& one : all)
    if (one.changer == host) TRY(forget_warm(fleet, one.kind.pool, one.name));
  return {};
}

}  // namespace hook::fleet
