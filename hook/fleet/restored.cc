// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/restored.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"
#include "vipu/made_name.h"

namespace hook::fleet {

using namespace base::names;

namespace {

// Returns the host that has what the key NAME says in VALUE; empty: it says no such thing.
std::string holder_in(std::string_view name, const std::string& value) {
  const bool is_claim =
      name.starts_with("partitions/") && name.find("/claims/") != std::string_view::npos;
  if (!is_claim && !name.starts_with("grants/")) return "";
  std::string host = text_in(value, "host");
  return vipu::is_host(host) ? host : "";
}

void add_hosts(std::string_view name, const std::string& value,
               std::map<std::string, int64_t>& hosts) {
  constexpr std::string_view kHosts = "hosts/";
  const std::string holder = holder_in(name, value);
  if (!holder.empty()) hosts[holder];
  const std::string_view host = name.starts_with(kHosts) ? name.substr(kHosts.size()) : "";
  if (vipu::is_host(host)) hosts[std::string(host)];
}

}  // namespace

std::string restored_prefix(const std::string& prefix) { return prefix + "restored/"; }

std::string restored_key(const std::string& prefix, const std::string& host) {
  return restored_prefix(prefix) + host;
}

std::map<std::string, int64_t> hosts_to_ask(const std::string& prefix,
                                            const std::vector<KeyValue>& copy,
                                            const Listing& before) {
  std::map<std::string, int64_t> hosts;
  for (const KeyValue& one : copy) add_hosts(one.key, one.value, hosts);
  const std::string below = restored_prefix(prefix);
  for (const KeyValue& one : before.keys) {
    add_hosts(std::string_view(one.key).substr(prefix.size()), one.value, hosts);
    const std::string asked = one.key.starts_with(below) ? one.key.substr(below.size()) : "";
    if (vipu::is_host(asked)) hosts[asked] = one.modified;
  }
  return hosts;
}

Result<std::vector<std::string>> untold_hosts(const Fleet& fleet) {
  const std::string below = restored_prefix(fleet.prefix);
  std::vector<std::string> hosts;
  for (const KeyValue& one : TRY(fleet.store.list(below, fleet.deadline)).keys)
    hosts.push_back(one.key.substr(below.size()));
  return hosts;
}

Result<std::string> untold_host_alive(const Fleet& fleet) {
  const std::vector<std::string> untold = TRY(untold_hosts(fleet));
  for (const std::string& host : untold) {
    if (!vipu::is_host(host)) continue;  // check_told() says so
    const std::string fence = fence_key(fleet.prefix, host);
    if (!TRY(find_key(fleet.store, fence, fleet.deadline))) return host;
  }
  return std::string();
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
  TRY(commit_if_known(fleet, std::move(txn)));
  return {};
}

void require_all_told(const Fleet& fleet, Txn& txn) {
  txn.compares.push_back({restored_prefix(fleet.prefix), Compare::What::kNoneBelow, 0});
}

Status check_told(const Fleet& fleet, const TxnResult& result) {
  const std::string below = restored_prefix(fleet.prefix);
  for (const KeyValue& one : result.found) {
    if (!one.key.starts_with(below)) continue;
    const std::string host = one.key.substr(below.size());
    if (!vipu::is_host(host)) return something_else(one.key);
    return Error(Code::kBusy, str("fleet: ", untold_text(host)));
  }
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
