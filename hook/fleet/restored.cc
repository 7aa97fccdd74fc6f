// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/restored.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"

namespace hook::fleet {

using namespace base::names;

std::string restored_prefix(const std::string& prefix) { return prefix + "restored/"; }

std::string restored_key(const std::string& prefix, const std::string& host) {
  return restored_prefix(prefix) + host;
}

Result<std::vector<std::string>> untold_hosts(const Fleet& fleet) {
  const std::string below = restored_prefix(fleet.prefix);
  std::vector<std::string> hosts;
  for (const KeyValue& one : TRY(fleet.store.list(below, fleet.deadline)).keys)
    hosts.push_back(one.key.substr(below.size()));
  return hosts;
}

Result<int64_t> asked_to_tell(const Fleet& fleet, const std::string& host) {
  const auto key = TRY(find_key(fleet.store, restored_key(fleet.prefix, host), fleet.deadline));
  // What is read from here on is of the import that asked, or a later one asks again.
  if (TRY(find_key(fleet.store, import_key(fleet.prefix), fleet.deadline))) return import_begun();
  return key ? key->modified : 0;
}

Status has_told(const Fleet& fleet, const std::string& host, int64_t asked) {
  if (asked == 0) return {};
  Txn txn;
  const std::string key = restored_key(fleet.prefix, host);
  txn.compares = {{key, Compare::What::kModified, asked}};
  txn.deletes = {key};
  TRY(fleet.store.commit(txn, fleet.deadline));
  return {};
}

void require_all_told(const Fleet& fleet, Txn& txn) {
  txn.compares.push_back({restored_prefix(fleet.prefix), Compare::What::kNoneBelow, 0});
}

Status check_told(const Fleet& fleet, const TxnResult& result) {
  const std::string below = restored_prefix(fleet.prefix);
  for (const KeyValue& one : result.found)
    if (one.key.starts_with(below))
      return Error(Code::kBusy, str("fleet: ", untold_text(one.key.substr(below.size()))));
  return {};
}

std::string untold_text(const std::string& host) {
  return str("etcd was restored from a copy, and host ", host,
             " has not told since what its containers have: run 'ipuctl gc' there, or 'ipuctl host"
             " fence ",
             host,
             "' here if that host is dead; one that has left the fleet joins, runs 'ipuctl gc', and"
             " leaves again");
}

}  // namespace hook::fleet
