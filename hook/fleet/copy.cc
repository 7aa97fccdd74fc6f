// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/copy.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/keys.h"
#include "hook/fleet/marks.h"
#include "hook/fleet/restored.h"
#include "hook/fleet/usage.h"
#include "vipu/wire_fields.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using base::Json;

constexpr const char* kMeta = "meta";
constexpr const char* kAlive = "alive/";
constexpr const char* kWarm = "warm/";
constexpr const char* kMarks = "marks/";
constexpr std::string_view kRestored = "restored/";
constexpr int64_t kCopyVersion = 1;
constexpr int64_t kDayMs = 86'400'000;
// etcd takes 1.5 MiB in one request.
constexpr size_t kMaxChunk = size_t{256} << 10;
constexpr size_t kMostPerChunk = kMaxOperations / 2 - 1;  // with the compare of the import's key

// All that a fleet has, but for the usage of each day.
constexpr const char* kFolders[] = {kAlive,      "fences/",  "fencing", "grants/",     "hosts/",
                                    "importing", kMarks,     kMeta,     "partitions/", "queue/",
                                    "restored/", "tenants/", "turns/",  kWarm};

// Returns what is below PREFIX. If that is more than one answer may have, each folder is as of a
// revision of its own, and usage of days that no host keeps is left out.
Result<Listing> list_all(Store& store, const std::string& prefix, const Deadline& deadline) {
  Result<Listing> all = store.list(prefix, deadline);
  if (all.ok() || all.error().code() != Code::kUnsupported) return all;
  std::vector<std::string> names(std::begin(kFolders), std::end(kFolders));
  const int64_t today = base::unix_millis() / kDayMs;
  for (int64_t day = today - kFleetUsageDays; day <= today + 1; ++day)
    names.push_back(str("usage/", day_text(day), '/'));
  Listing listing;
  for (const std::string& name : names) {
    Listing folder = TRY(store.list(prefix + name, deadline));
    if (listing.revision == 0) listing.revision = folder.revision;
    for (KeyValue& one : folder.keys) listing.keys.push_back(std::move(one));
  }
  return listing;
}

bool is_meta(std::string_view name) { return name == kMeta || name.starts_with("meta/"); }

// A name below the prefix: parts of plain characters between single slashes.
bool is_copied_name(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() < kMaxKey / 2 && name.front() != '/' && name.back() != '/' &&
         name.find("//") == std::string::npos && std::all_of(name.begin(), name.end(), is_plain) &&
         !is_meta(name) && !name.starts_with(kAlive) && name != import_key("");
}

Result<Copy> read_parts(const Json& json) {
  const int64_t version = TRY(base::get_int(json, "version", "copy"));
  if (version > kCopyVersion) {
    return Error(Code::kUnsupported, str("it is of version ", version, ", and this release knows ",
                                         kCopyVersion, ": install a newer release"));
  }
  Copy copy;
  copy.fleet = TRY(base::get_string(json, "fleet", "copy"));
  const bool is_id = copy.fleet.size() == 16 &&
                     copy.fleet.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_id) return Error(Code::kInvalid, "copy: 'fleet' is no id of 16 hexadecimal digits");
  copy.revision = TRY(base::get_int(json, "revision", "copy"));
  copy.made_ms = TRY(base::get_int(json, "made_ms", "copy"));
  const auto keys = json.find("keys");
  const bool is_list = keys != json.end() && keys->is_array() && keys->size() <= kMostCopied;
  if (!is_list) {
    return Error(Code::kInvalid, str("copy: 'keys' is no list of at most ", kMostCopied, " keys"));
  }
  std::set<std::string> names;
  for (const Json& one : *keys) {
    KeyValue key;
    key.key = TRY(base::get_string(one, "key", "copy"));
    key.value = TRY(base::get_string(one, "value", "copy"));
    const std::string name = base::one_line(key.key, 80);
    if (!is_copied_name(key.key))
      return Error(Code::kInvalid, str("copy: ", quote(name), " is no key of a fleet"));
    if (!vipu::wire::is_plain_text(key.value, kMaxValue))
      return Error(Code::kInvalid,
                   str("copy: the value of ", quote(name), " is too long or no text"));
    if (!names.insert(key.key).second)
      return Error(Code::kInvalid, str("copy: ", quote(name), " is there twice"));
    copy.keys.push_back(std::move(key));
  }
  return copy;
}

// Returns the value of KEY as it is written: a partition's record says that it is to be reset.
std::string written(const KeyValue& key) {
  if (!key.key.starts_with("partitions/") || !key.key.ends_with("/record")) return key.value;
  Result<Json> json = base::parse_json(key.value, "copy");
  if (!json.ok() || !json.value().is_object()) return key.value;
  Json record = std::move(json).take();
  record["dirty"] = true;
  return base::to_text(record);
}

// One import, whose key is of REVISION. Collects operations into transactions that the store takes.
class Import {
 public:
  Import(Store& store, const std::string& prefix, int64_t revision, const Deadline& deadline)
      : store_(store), key_(import_key(prefix)), revision_(revision), deadline_(deadline) {}
  // SEEN: the revision of what is there; 0: nothing.
  Status put(const std::string& key, const std::string& value, int64_t seen = 0) {
    using What = Compare::What;
    size_ += key.size() * 2 + value.size();
    txn_.compares.push_back({key, seen == 0 ? What::kCreated : What::kModified, seen});
    txn_.puts.push_back({key, value});
    return may_wait();
  }
  Status remove(const KeyValue& key) {
    size_ += key.key.size() * 2;
    txn_.compares.push_back({key.key, Compare::What::kModified, key.modified});
    txn_.deletes.push_back(key.key);
    return may_wait();
  }
  Status flush() {
    if (txn_.compares.empty()) return {};
    txn_.compares.push_back({key_, Compare::What::kModified, revision_});
    const TxnResult result = TRY(store_.commit(txn_, deadline_));
    txn_ = {};
    size_ = 0;
    if (result.done) return {};
    return Error(Code::kBusy,
                 "fleet: the store changes meanwhile; stop ipu-agent on all hosts,"
                 " and run the command again with --replace once no other import runs");
  }
  // The last transaction, after which hosts join.
  Status end() {
    txn_.deletes.push_back(key_);
    return flush();
  }

 private:
  Status may_wait() {
    const bool fits = size_ < kMaxChunk && txn_.compares.size() < kMostPerChunk;
    return fits ? Status() : flush();
  }
  Store& store_;
  const std::string key_;
  int64_t revision_;
  const Deadline& deadline_;
  Txn txn_;
  size_t size_ = 0;
};

// Begins an import in place of OTHER, and of the fleet whose record is META, as they were seen.
// Returns the revision of its key.
Result<int64_t> begin_import(Store& store, const std::string& prefix,
                             const std::optional<KeyValue>& other,
                             const std::optional<KeyValue>& meta, const Deadline& deadline) {
  const std::string key = import_key(prefix);
  const std::string id = TRY(base::random_hex(8));
  Txn txn;
  txn.compares = {unchanged(key, other),
                  unchanged(prefix + kMeta, meta),
                  {prefix + kAlive, Compare::What::kNoneBelow, 0}};
  TRY(require_no_fleet_around(store, prefix, txn, deadline));
  txn.puts = {{key, id}};
  const TxnResult begun = TRY(store.commit(txn, deadline));
  if (begun.done) return begun.revision;
  return Error(Code::kBusy,
               "fleet: another import has begun, or a host is alive, so nothing was"
               " changed; try again");
}

// A grant that names a partition is the only record of whose that is: a fence that is not finished
// needs it.
bool is_record(const KeyValue& key, std::string_view name) {
  return name.starts_with("grants/") && !text_in(key.value, "partition").empty();
}

bool is_fence(std::string_view name) { return name.starts_with("fences/"); }

// Returns the keys that say what the hosts PRESENT, which are fenced, had taken of the fleet's warm
// partitions. An import keeps them.
std::set<std::string> kept_records(const std::string& prefix, const Listing& listing,
                                   const std::set<std::string>& present) {
  std::set<std::string> kept;
  for (const KeyValue& one : listing.keys) {
    std::string name = one.key.substr(prefix.size());
    if (is_record(one, name) && present.contains(text_in(one.value, "host")))
      kept.insert(std::move(name));
  }
  return kept;
}

Status clear(Import& import, const std::string& prefix, const Listing& listing,
             const std::set<std::string>& kept) {
  const auto name_of = [&](const KeyValue& one) { return one.key.substr(prefix.size()); };
  for (const KeyValue& one : listing.keys)
    if (is_meta(name_of(one))) TRY(import.remove(one));
  TRY(import.flush());
  for (const KeyValue& one : listing.keys) {
    const std::string name = name_of(one);
    if (is_meta(name) || is_fence(name) || name == import_key("")) continue;
    if (kept.contains(name)) continue;
    TRY(import.remove(one));
  }
  return import.flush();
}

// Returns the hosts whose fences the copy has and the store has not.
std::vector<std::string> old_fences(const Copy& copy, const std::set<std::string>& present) {
  std::vector<std::string> hosts;
  for (const KeyValue& one : copy.keys) {
    if (!is_fence(one.key)) continue;
    std::string host = one.key.substr(one.key.find('/') + 1);
    if (!present.contains(host)) hosts.push_back(std::move(host));
  }
  return hosts;
}

// What COPY has for the store, beside what is KEPT. The hosts FENCED have nothing else.
Status write_keys(Import& import, const std::string& prefix, const Copy& copy,
                  const std::set<std::string>& present, const std::set<std::string>& fenced,
                  const std::set<std::string>& kept) {
  for (const KeyValue& one : copy.keys) {
    const bool is_past =
        one.key.starts_with(kWarm) || one.key.starts_with(kRestored) || one.key.starts_with(kMarks);
    if (is_past || kept.contains(one.key)) continue;
    if (is_fence(one.key)) {
      const std::string host = one.key.substr(one.key.find('/') + 1);
      if (present.contains(host) || !fenced.contains(host)) continue;
    } else if (fenced.contains(text_in(one.value, "host")) && !is_record(one, one.key)) {
      continue;
    }
    TRY(import.put(prefix + one.key, written(one)));
  }
  return import.flush();
}

// Asks HOSTS, but those FENCED, to tell what they have. KEPT has these keys then.
Status ask_to_tell(Import& import, const std::string& prefix,
                   const std::map<std::string, int64_t>& hosts, const std::set<std::string>& fenced,
                   std::set<std::string>& kept) {
  for (const auto& [host, asked] : hosts) {
    if (fenced.contains(host)) continue;
    TRY(import.put(restored_key(prefix, host), base::to_text(Json{{"host", host}}), asked));
    kept.insert(str(kRestored, host));
  }
  return import.flush();
}

// Leaves the oldest usage out until a file can have COPY.
void fit(Copy& copy) {
  const auto bytes_of = [](const KeyValue& one) {
    constexpr size_t kAround = 64;  // of each key in the file
    return base::to_text(Json(one.key)).size() + base::to_text(Json(one.value)).size() + kAround;
  };
  size_t bytes = 0;
  for (const KeyValue& one : copy.keys) bytes += bytes_of(one);
  size_t count = copy.keys.size();
  // In the order of their days.
  std::erase_if(copy.keys, [&](const KeyValue& one) {
    const bool fits = bytes < kMaxCopy - kMaxChunk && count <= kMostCopied;
    if (fits || !one.key.starts_with("usage/")) return false;
    bytes -= bytes_of(one);
    --count;
    return true;
  });
}

}  // namespace

Result<Copy> read_copy(Store& store, const std::string& prefix, int64_t now_ms,
                       const Deadline& deadline) {
  Copy copy;
  copy.fleet = TRY(read_fleet_id(store, prefix, deadline));
  const Listing listing = TRY(list_all(store, prefix, deadline));
  copy.revision = listing.revision;
  copy.made_ms = now_ms;
  for (const KeyValue& one : listing.keys) {
    const std::string name = one.key.substr(prefix.size());
    const bool is_kept = !is_meta(name) && !name.starts_with(kAlive) && !name.starts_with(kWarm) &&
                         !name.starts_with(kRestored) && !name.starts_with(kMarks) &&
                         name != import_key("");
    if (one.lease == 0 && is_kept) copy.keys.push_back({name, one.value});
  }
  fit(copy);
  return copy;
}

std::string to_text(const Copy& copy) {
  Json keys = Json::array();
  for (const KeyValue& one : copy.keys) keys.push_back({{"key", one.key}, {"value", one.value}});
  return base::to_pretty_text(Json{{"version", kCopyVersion},
                                   {"fleet", copy.fleet},
                                   {"revision", copy.revision},
                                   {"made_ms", copy.made_ms},
                                   {"made", base::rfc3339(copy.made_ms)},
                                   {"keys", std::move(keys)}});
}

Result<Copy> parse_copy(std::string_view text) {
  if (text.size() > kMaxCopy) return Error(Code::kInvalid, "copy: it is too large");
  const Json json = TRY(base::parse_json(text, "copy"));
  return read_parts(json);
}

Status check_copy(const Copy& copy, const std::string& known) {
  if (known.empty() || copy.fleet == known) return {};
  return Error(Code::kInvalid,
               str("the copy is of fleet ", copy.fleet, ", and this host is in fleet ", known,
                   ", so nothing was changed; give a copy of that one, or run 'ipuctl fleet leave"
                   " --lost' first"));
}

Status write_copy(Store& store, const std::string& prefix, const Copy& copy, Replace replace,
                  OldFences old, const Deadline& deadline) {
  const Listing before = TRY(list_all(store, prefix, deadline));
  std::optional<KeyValue> other;  // import
  std::optional<KeyValue> meta;
  std::set<std::string> present;  // hosts that are fenced there
  for (const KeyValue& one : before.keys) {
    const std::string name = one.key.substr(prefix.size());
    if (name == import_key("")) other = one;
    if (name == kMeta) meta = one;
    if (is_fence(name)) present.insert(name.substr(name.find('/') + 1));
    if (name != kMeta && is_fleet_meta(one)) {
      return Error(Code::kInvalid,
                   str("fleet: 'prefix' ", quote(prefix), " is around ",
                       quote(prefix + name.substr(0, name.rfind('/') + 1)),
                       ", which is another fleet's, so nothing was changed: choose another 'prefix'"
                       " in [fleet]"));
    }
    if (!name.starts_with(kAlive)) continue;
    const std::string host = name.substr(name.find('/') + 1);
    return Error(
        Code::kBusy,
        str("fleet: host ", host.substr(0, host.find('/')), " is alive below ", quote(prefix),
            ", so nothing was changed; stop ipu-agent on all hosts, and wait for ",
            kAliveTime.count(), " s"));
  }
  if (other && replace == Replace::kNo) return import_begun();
  if (!before.keys.empty() && replace == Replace::kNo) {
    return Error(Code::kExists, str("fleet: there are ", before.keys.size(), " keys below ",
                                    quote(prefix), ", such as ", quote(before.keys.front().key),
                                    ", so nothing was changed; give --replace to remove them"));
  }
  const std::vector<std::string> gone = old_fences(copy, present);
  if (!gone.empty() && old == OldFences::kRefuse) {
    return Error(Code::kInvalid,
                 str("fleet: the copy has fences of hosts ", base::join(gone, ", "),
                     ", which may have been forgotten since, so nothing was changed; give --fences"
                     " to fence them, which ends their containers, or --no-fences"));
  }
  std::set<std::string> fenced = present;
  if (old == OldFences::kBring) fenced.insert(gone.begin(), gone.end());
  const int64_t revision = TRY(begin_import(store, prefix, other, meta, deadline));
  Import import(store, prefix, revision, deadline);
  std::set<std::string> kept = kept_records(prefix, before, present);
  // First, so that an import that is cut short has asked all, too.
  TRY(ask_to_tell(import, prefix, hosts_to_ask(prefix, copy.keys, before), fenced, kept));
  TRY(clear(import, prefix, before, kept));
  TRY(write_keys(import, prefix, copy, present, fenced, kept));
  TRY(import.put(prefix + kMeta,
                 base::to_text(Json{{"version", kStoreVersion}, {"id", copy.fleet}})));
  TRY(import.put(version_key(prefix, copy.fleet), ""));
  const Put mark = import_mark(prefix, TRY(base::random_hex(8)));
  TRY(import.put(mark.key, mark.value));
  return import.end();
}

}  // namespace hook::fleet
