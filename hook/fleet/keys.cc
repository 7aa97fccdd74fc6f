// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/keys.h"

#include <algorithm>

#include "base/json.h"
#include "base/names.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/marks.h"
#include "vipu/wire_fields.h"

namespace hook::fleet {

using namespace base::names;

Result<bool> read_flag(const vipu::wire::Fields& fields, const char* key) {
  return TRY(fields.flag(key)) == vipu::wire::Flag::kYes;
}

Error something_else(const std::string& key) {
  return {Code::kInvalid, str("fleet: the store has something else at ", quote(key),
                              ": mend or remove it with 'etcdctl' if the prefix is this fleet's"
                              " alone, else choose another 'prefix' in [fleet]")};
}

std::string version_key(const std::string& prefix, const std::string& id) {
  return str(prefix, "meta/v", kStoreVersion, '/', id);
}

Result<TxnResult> commit_if_known(const Fleet& fleet, Txn txn) {
  std::string id = fleet.id;
  if (id.empty()) id = TRY(join_fleet(fleet.store, fleet.prefix, fleet.deadline));
  const std::string version = version_key(fleet.prefix, id);
  txn.compares.push_back({version, Compare::What::kExists, 0});
  require_mark(fleet, txn);
  TxnResult result = TRY(fleet.store.commit(txn, fleet.deadline));
  const bool is_known =
      result.done || std::any_of(result.found.begin(), result.found.end(),
                                 [&](const KeyValue& one) { return one.key == version; });
  if (is_known) {
    TRY(check_mark(fleet, result));
    return result;
  }
  const Result<std::string> now = read_fleet_id(fleet.store, fleet.prefix, fleet.deadline);
  const bool is_none = !now.ok() && now.error().code() == Code::kNotFound;
  if (!now.ok() && !is_none) return now.error();
  if (is_none || now.value() != id)
    return fleet_is_gone(id, fleet.prefix, is_none ? "" : now.value());
  // A host of an earlier release made the store.
  TRY(join_fleet(fleet.store, fleet.prefix, fleet.deadline));
  result = TRY(fleet.store.commit(txn, fleet.deadline));
  TRY(check_mark(fleet, result));
  return result;
}

std::string import_key(const std::string& prefix) { return prefix + "importing"; }

Error import_begun() {
  return {Code::kBusy,
          "fleet: 'ipuctl fleet import' has begun and not ended; wait for it, or run it"
          " again with --replace if nobody runs it"};
}

std::string fence_key(const std::string& prefix, const std::string& host) {
  return str(prefix, "fences/", host);
}

std::string alive_key(const std::string& prefix, const std::string& host) {
  return str(prefix, "alive/", host);
}

std::string twin_key(const std::string& prefix, const std::string& host) {
  return str(alive_key(prefix, host), "/twin");
}

void require_silence(Txn& txn, const std::string& prefix, const std::string& host) {
  for (const std::string& key : {alive_key(prefix, host), twin_key(prefix, host)})
    txn.compares.push_back({key, Compare::What::kCreated, 0});
}

Error fenced(const std::string& host) {
  return {Code::kDenied,
          str("fleet: this host, ", host,
              ", was declared dead with 'ipuctl host fence', so others may have its IPUs; once its"
              " containers that had them have ended, run 'ipuctl host forget ",
              host, "' on another host")};
}

Result<std::optional<KeyValue>> find_key(Store& store, const std::string& key,
                                         const Deadline& deadline) {
  const Listing listing = TRY(store.list(key, deadline));
  for (const KeyValue& one : listing.keys) {
    if (one.key == key) return std::optional<KeyValue>(one);
  }
  return std::optional<KeyValue>();
}

std::string text_in(const std::string& value, const char* key) {
  const Result<base::Json> json = base::parse_json(value, "record");
  if (!json.ok() || !json.value().is_object()) return "";
  const Result<std::string> text = base::get_string(json.value(), key, "record");
  return text.ok() ? text.value() : "";
}

Status remove_keys_of(const Fleet& fleet, const std::string& prefix, const std::string& host) {
  Txn txn;
  const Listing listing = TRY(fleet.store.list(prefix, fleet.deadline));
  for (const KeyValue& one : listing.keys) {
    if (text_in(one.value, "host") != host) continue;
    txn.deletes.push_back(one.key);
    if (txn.deletes.size() < kMaxOperations) continue;
    TRY(fleet.store.commit(txn, fleet.deadline));
    txn = {};
  }
  if (!txn.deletes.empty()) TRY(fleet.store.commit(txn, fleet.deadline));
  return {};
}

Compare unchanged(const std::string& key, const std::optional<KeyValue>& found) {
  if (!found) return {key, Compare::What::kCreated, 0};
  return {key, Compare::What::kModified, found->modified};
}

}  // namespace hook::fleet
