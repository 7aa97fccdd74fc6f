// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/hosts.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/names.h"
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

// What a beat, its way and the lease explain of a clock that seems to be behind, and ahead.
constexpr int64_t kBehindMs = 60'000;
constexpr int64_t kAheadMs = 5'000;

// What the store keeps of a host.
struct Record {
  HostState state;
  std::string previous;  // boot id before
};

Result<std::string> parse_meta(const KeyValue& meta) {
  const Result<Json> json = base::parse_json(meta.value, "meta");
  if (!json.ok()) return something_else(meta.key);
  const Result<int64_t> version = base::get_int(json.value(), "version", "meta");
  const Result<std::string> id = base::get_string(json.value(), "id", "meta");
  if (!version.ok() || !id.ok() || !vipu::wire::is_plain_text(id.value(), kMaxWord)) {
    return something_else(meta.key);
  }
  if (version.value() <= kStoreVersion) return id;
  return Error(Code::kUnsupported,
               str("fleet: the store below ", quote(meta.key), " is of version ", version.value(),
                   ", and this release knows ", kStoreVersion, ": install a newer release"));
}

bool is_meta_of_others(const KeyValue& meta) {
  const Result<std::string> id = parse_meta(meta);
  return !id.ok() && id.error().code() == Code::kInvalid;
}

std::string text_of(const Record& record) {
  const HostFacts& host = record.state.host;
  Json pools = Json::object();
  for (const auto& [pool, source] : host.pools)
    if (pools.size() < kMostPools) pools[pool] = source;
  return base::to_text(Json{{"name", host.name},
                            {"pools", std::move(pools)},
                            {"identity", host.identity},
                            {"version", host.version},
                            {"boot", host.boot},
                            {"previous", record.previous},
                            {"since_ms", record.state.since_ms},
                            {"seen_ms", record.state.seen_ms}});
}

// A release before it said so, or one that says more, is a host all the same.
std::map<std::string, std::string> read_pools(const Json& json) {
  std::map<std::string, std::string> pools;
  const auto all = json.find("pools");
  if (all == json.end() || !all->is_object() || all->size() > kMostPools) return pools;
  for (const auto& [pool, source] : all->items()) {
    const bool fits = source.is_string() && vipu::wire::is_plain_text(pool, kMaxWord) &&
                      vipu::wire::is_plain_text(source.get<std::string>(), kMaxWord);
    if (fits) pools[pool] = source.get<std::string>();
  }
  return pools;
}

Result<Record> read_record(const Json& json, const std::string& tag) {
  const Fields fields = TRY(Fields::open(json, "host"));
  Record record;
  record.state.host.tag = tag;
  record.state.host.name = TRY(fields.text("name", kMaxWord));
  record.state.host.identity = TRY(fields.text("identity", kMaxWord));
  record.state.host.version = TRY(fields.text("version", kMaxWord));
  record.state.host.boot = TRY(fields.text("boot", kMaxWord));
  record.previous = TRY(fields.text("previous", kMaxWord));
  record.state.host.pools = read_pools(json);
  record.state.since_ms = TRY(base::get_int(json, "since_ms", "host"));
  record.state.seen_ms = TRY(base::get_int(json, "seen_ms", "host"));
  for (const int64_t time : {record.state.since_ms, record.state.seen_ms})
    if (time < 0 || time > kLatestMs) return Error(Code::kInvalid, "host: a time is out of range");
  return record;
}

Result<Record> parse_record(const KeyValue& key) {
  const Result<Json> json = base::parse_json(key.value, "host");
  if (!json.ok()) return something_else(key.key);
  Result<Record> record = read_record(json.value(), key.key.substr(key.key.rfind('/') + 1));
  if (!record.ok()) return something_else(key.key);
  return record;
}

Error taken(const HostFacts& me, const HostFacts& other) {
  return {Code::kExists, str("fleet: two hosts have the tag ", me.tag, ", ", quote(me.name),
                             " and ", quote(other.name),
                             ": give one of them its own [host] id, and see 'ipuctl ledger"
                             " adopt-host --help'")};
}

// Returns the lease of a key that is alive; a new one if there is none, or if it ends now.
Result<int64_t> lease_for(Store& store, const std::optional<KeyValue>& alive,
                          const Deadline& deadline) {
  if (alive && alive->lease != 0) {
    const Result<Lease> kept = store.keep(alive->lease, deadline);
    if (kept.ok()) return kept.value().id;
    if (kept.error().code() != Code::kNotFound) return kept.error();
  }
  const Lease granted = TRY(store.grant(static_cast<uint32_t>(kAliveTime.count()), deadline));
  return granted.id;
}

// Says that ME is alive and has the tag of another host, which beats.
Status be_twin(Store& store, const std::string& prefix, const HostFacts& me,
               const Deadline& deadline) {
  const std::string key = twin_key(prefix, me.tag);
  const std::optional<KeyValue> known = TRY(find_key(store, key, deadline));
  const int64_t lease = TRY(lease_for(store, known, deadline));
  Txn txn;
  txn.puts = {{key, me.boot, lease}};
  TRY(store.commit(txn, deadline));
  return {};
}

// A host is fenced whatever else KEY says.
FenceFacts parse_fence(const KeyValue& key) {
  FenceFacts fence{key.created, ""};
  fence.host = key.key.substr(key.key.rfind('/') + 1);
  fence.modified = key.modified;
  const Result<Json> json = base::parse_json(key.value, "fence");
  if (!json.ok()) return fence;
  const Result<std::string> by = base::get_string(json.value(), "by", "fence");
  if (by.ok() && vipu::is_host(by.value())) fence.by = by.value();
  const auto finished = json.value().find("finished");
  fence.is_finished =
      finished != json.value().end() && finished->is_boolean() && finished->get<bool>();
  return fence;
}

}  // namespace

bool is_fleet_meta(const KeyValue& key) {
  return key.key.ends_with("/meta") && !is_meta_of_others(key);
}

Status require_no_fleet_around(Store& store, const std::string& prefix, Txn& txn,
                               const Deadline& deadline) {
  for (size_t end = prefix.find('/'); end + 1 < prefix.size(); end = prefix.find('/', end + 1)) {
    const std::string outer = prefix.substr(0, end + 1);
    const Result<std::optional<KeyValue>> meta = find_key(store, outer + "meta", deadline);
    if (!meta.ok() && meta.error().code() == Code::kDenied) continue;
    if (!meta.ok()) return meta.error();
    // Any other program may have a key of this name.
    if (meta.value() && !is_meta_of_others(*meta.value())) {
      return Error(Code::kInvalid,
                   str("fleet: 'prefix' ", quote(prefix), " is inside of ", quote(outer),
                       ", which is another fleet's: choose another 'prefix' in [fleet]"));
    }
    txn.compares.push_back(unchanged(outer + "meta", meta.value()));
  }
  return {};
}

Error fleet_is_gone(const std::string& known, const std::string& prefix, const std::string& now) {
  return {
      Code::kNotFound,
      str("fleet: this host is in fleet ", known, ", and etcd has ",
          now.empty() ? "none" : str("fleet ", now), " below ", quote(prefix),
          ": correct 'endpoints' and 'prefix', or restore it with 'ipuctl fleet import'; if it is"
          " gone for good, run 'ipuctl fleet leave --lost' on each host")};
}

Result<std::string> read_fleet_id(Store& store, const std::string& prefix,
                                  const Deadline& deadline) {
  const std::optional<KeyValue> meta = TRY(find_key(store, prefix + "meta", deadline));
  if (meta) return parse_meta(*meta);
  const Listing others = TRY(store.list(prefix, deadline));
  const bool is_importing =
      std::any_of(others.keys.begin(), others.keys.end(),
                  [&](const KeyValue& one) { return one.key == import_key(prefix); });
  if (is_importing) return import_begun();
  // Another host may have made it in this moment.
  for (const KeyValue& one : others.keys)
    if (one.key == prefix + "meta") return parse_meta(one);
  if (!others.keys.empty()) return something_else(others.keys.front().key);
  return Error(Code::kNotFound, str("fleet: no host has joined below ", quote(prefix),
                                    ": run 'ipuctl fleet beat', or start ipu-agent"));
}

Result<std::string> join_fleet(Store& store, const std::string& prefix, const Deadline& deadline) {
  const std::string key = prefix + "meta";
  const std::optional<KeyValue> meta = TRY(find_key(store, key, deadline));
  Txn txn;
  txn.compares = {unchanged(key, meta)};
  if (meta) {
    std::string id = TRY(parse_meta(*meta));
    const std::string version = version_key(prefix, id);
    if (TRY(find_key(store, version, deadline))) return id;
    txn.puts = {{version, ""}};  // a host of an earlier release made the store
    TRY(store.commit(txn, deadline));
    return id;
  }
  const Result<std::string> other = read_fleet_id(store, prefix, deadline);
  if (other.ok() || other.error().code() != Code::kNotFound) return other;
  const std::string id = TRY(base::random_hex(8));
  txn.compares = {{prefix, Compare::What::kNoneBelow, 0}};  // nor has an import begun
  TRY(require_no_fleet_around(store, prefix, txn, deadline));
  txn.puts = {{key, base::to_text(Json{{"version", kStoreVersion}, {"id", id}})},
              {version_key(prefix, id), ""}};
  const TxnResult made = TRY(store.commit(txn, deadline));
  if (made.done) return id;
  return read_fleet_id(store, prefix, deadline);  // another host was first
}

Status check_fence(Store& store, const std::string& prefix, const std::string& host,
                   const Deadline& deadline) {
  if (!TRY(find_key(store, fence_key(prefix, host), deadline))) return {};
  return fenced(host);
}

Status beat(Store& store, const std::string& prefix, const HostFacts& me, int64_t now_ms,
            const Deadline& deadline) {
  const std::string record_key = str(prefix, "hosts/", me.tag);
  const std::string alive_at = alive_key(prefix, me.tag);
  const std::optional<KeyValue> known = TRY(find_key(store, record_key, deadline));
  const std::optional<KeyValue> alive = TRY(find_key(store, alive_at, deadline));
  Record next{{me, true, now_ms, now_ms}, ""};
  if (known) {
    const Record last = TRY(parse_record(*known));
    const HostFacts& host = last.state.host;
    // Or somebody has replaced this boot by his own, and this host still runs.
    const bool is_other = (alive && host.identity != me.identity) ||
                          (last.previous == me.boot && host.boot != me.boot);
    if (is_other) {
      // The tag's end is not this host's end, so nobody takes it for dead.
      TRY(be_twin(store, prefix, me, deadline));
      return taken(me, host);
    }
    const bool same_boot = host.boot == me.boot;
    if (alive && same_boot) next.state.since_ms = last.state.since_ms;
    next.previous = same_boot ? last.previous : host.boot;
  }
  const int64_t lease = TRY(lease_for(store, alive, deadline));
  Txn txn;
  txn.compares = {unchanged(record_key, known), unchanged(alive_at, alive)};
  txn.puts = {{record_key, text_of(next)}, {alive_at, me.boot, lease}};
  const TxnResult result = TRY(store.commit(txn, deadline));
  // A host that is alive and fenced must be told: others may have its IPUs by now.
  if (result.done) return check_fence(store, prefix, me.tag, deadline);
  return Error(Code::kBusy, str("fleet: the record of host ", me.tag,
                                " has changed meanwhile: try again, and see 'ipuctl fleet check'"));
}

Result<std::optional<FenceFacts>> find_fence(Store& store, const std::string& prefix,
                                             const std::string& host, const Deadline& deadline) {
  const std::optional<KeyValue> key = TRY(find_key(store, fence_key(prefix, host), deadline));
  if (!key) return std::optional<FenceFacts>();
  return std::optional<FenceFacts>(parse_fence(*key));
}

Result<bool> wait_for_fence(Store& store, const std::string& prefix, const std::string& host,
                            const Deadline& deadline) {
  const std::string key = fence_key(prefix, host);
  const Listing now = TRY(store.list(key, deadline));
  if (!now.keys.empty()) return true;
  const Changes changes = TRY(store.wait(key, now.revision + 1, deadline));
  return std::any_of(changes.all.begin(), changes.all.end(),
                     [](const Change& one) { return !one.deleted; });
}

Result<std::vector<FenceFacts>> list_fences(Store& store, const std::string& prefix,
                                            const Deadline& deadline) {
  const Listing listing = TRY(store.list(fence_key(prefix, ""), deadline));
  std::vector<FenceFacts> fences;
  for (const KeyValue& one : listing.keys) fences.push_back(parse_fence(one));
  return fences;
}

Result<bool> knows_host(Store& store, const std::string& prefix, const std::string& host,
                        const Deadline& deadline) {
  for (const std::string& key :
       {fence_key(prefix, host), str(prefix, "hosts/", host), restored_key(prefix, host)})
    if (TRY(find_key(store, key, deadline))) return true;
  for (const char* const below : {"partitions/", "queue/", "grants/", "warm/"}) {
    const Listing listing = TRY(store.list(prefix + below, deadline));
    for (const KeyValue& one : listing.keys)
      if (text_in(one.value, "host") == host || text_in(one.value, "changer") == host) return true;
  }
  return false;
}

Result<std::vector<HostState>> list_hosts(Store& store, const std::string& prefix,
                                          const Deadline& deadline, std::vector<Error>& obstacles) {
  // In this order, a host that joins in between does not look suspect.
  const Listing records = TRY(store.list(prefix + "hosts/", deadline));
  const std::string alive_prefix = alive_key(prefix, "");
  const Listing keys = TRY(store.list(alive_prefix, deadline));
  const std::string fence_prefix = fence_key(prefix, "");
  const Listing fences = TRY(store.list(fence_prefix, deadline));
  std::set<std::string> fenced;
  for (const KeyValue& one : fences.keys) fenced.insert(one.key.substr(fence_prefix.size()));
  std::set<std::string> alive;
  for (const KeyValue& one : keys.keys) {
    const std::string below = one.key.substr(alive_prefix.size());
    alive.insert(below.substr(0, below.find('/')));  // a twin's, too
  }
  std::vector<HostState> hosts;
  for (const KeyValue& one : records.keys) {
    Result<Record> record = parse_record(one);
    if (!record.ok()) {
      obstacles.push_back(std::move(record).error());
      continue;
    }
    HostState state = record.value().state;
    state.is_alive = alive.contains(state.host.tag);
    state.is_fenced = fenced.contains(state.host.tag);
    state.modified = one.modified;
    hosts.push_back(std::move(state));
  }
  return hosts;
}

Status forget_host(Store& store, const std::string& prefix, const std::string& host,
                   const Deadline& deadline) {
  Txn txn;
  require_silence(txn, prefix, host);
  txn.deletes = {str(prefix, "hosts/", host)};
  // Without it, the host would think that the store went back, also after an import.
  txn.puts = {forgotten_mark(prefix, host)};
  TRY(store.commit(txn, deadline));
  return {};
}

Status end_beats(Store& store, const std::string& prefix, const std::string& host,
                 const Deadline& deadline) {
  Txn txn;
  txn.compares = {{fence_key(prefix, host), Compare::What::kCreated, 0}};
  txn.deletes = {str(prefix, "hosts/", host), alive_key(prefix, host), restored_key(prefix, host)};
  txn.puts = {forgotten_mark(prefix, host)};
  const TxnResult result = TRY(store.commit(txn, deadline));
  return result.done ? Status() : Status(fenced(host));
}

Result<bool> is_alive(Store& store, const std::string& prefix, const std::string& host,
                      const Deadline& deadline) {
  if (TRY(find_key(store, alive_key(prefix, host), deadline))) return true;
  return TRY(find_key(store, twin_key(prefix, host), deadline)).has_value();
}

std::vector<std::string> clock_troubles(const std::vector<HostState>& hosts, int64_t now_ms) {
  std::vector<std::string> lines;
  for (const HostState& one : hosts) {
    const int64_t ahead = one.seen_ms - now_ms;
    if (!one.is_alive || (ahead <= kAheadMs && ahead >= -kBehindMs)) continue;
    lines.push_back(str("fleet: the clock of host ", one.host.tag, " (", one.host.name, ") is ",
                        (ahead > 0 ? ahead : -ahead) / 1000, " s ",
                        ahead > 0 ? "ahead of" : "behind", " this host's: correct it, as by NTP"));
  }
  return lines;
}

std::vector<std::string> pool_troubles(const std::vector<HostState>& hosts, const HostFacts& me) {
  std::vector<std::string> lines;
  for (const HostState& one : hosts) {
    if (!one.is_alive || one.host.tag == me.tag) continue;
    const std::string they = str("fleet: host ", one.host.tag, " (", one.host.name, ")");
    for (const auto& [pool, source] : one.host.pools) {
      const auto same = me.pools.find(pool);
      if (same != me.pools.end() && same->second != source) {
        lines.push_back(str(they, " has controller ", source, " for pool ", quote(pool),
                            ", and this host ", same->second,
                            ": give both the same 'controller', or other names"));
      }
      for (const auto& [own, controller] : me.pools) {
        const bool is_other = controller == source && own != pool &&
                              !one.host.pools.contains(own) && !me.pools.contains(pool);
        if (!is_other) continue;
        lines.push_back(str(they, " calls the pool of controller ", source, ' ', quote(pool),
                            ", and this host ", quote(own),
                            ": give it one name, or they do not share its partitions"));
      }
    }
  }
  return lines;
}

}  // namespace hook::fleet
