// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/partition_change.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"
#include "hook/fleet/partition_text.h"
#include "hook/fleet/restored.h"

namespace hook::fleet {

using namespace base::names;

// Each attempt fails only if another host has changed the same partition meanwhile.
constexpr int kMostAttempts = 50;

Error not_there(const PartitionName& name) {
  return {Code::kNotFound, str("the fleet has no ", text_of(name))};
}

Compare as_seen(const Fleet& fleet, const PartitionView& view) {
  return {record_key(fleet.prefix, view.name), Compare::What::kModified, view.modified};
}

Put put_of(const Fleet& fleet, const PartitionView& view) {
  return {record_key(fleet.prefix, view.name), record_text(view)};
}

Put put_of(const Fleet& fleet, const PartitionName& name, const Claim& claim) {
  return {claim_key(fleet.prefix, name, claim.id), claim_text(claim)};
}

const Claim* find_claim(const PartitionView& view, const std::string& id) {
  const auto at = std::find_if(view.claims.begin(), view.claims.end(),
                               [&](const Claim& one) { return one.id == id; });
  return at == view.claims.end() ? nullptr : &*at;
}

bool overlap(const Claim& a, const Claim& b) {
  return a.gcd < b.gcd + b.gcds && b.gcd < a.gcd + a.gcds;
}

Status check_fences(const Fleet& fleet, const TxnResult& result) {
  for (const KeyValue& one : result.found) {
    if (!one.key.starts_with(fleet.prefix + "fences/")) continue;
    return fenced(one.key.substr(one.key.rfind('/') + 1));
  }
  return {};
}

Status change(const Fleet& fleet, const PartitionName& name, const PartitionChange& make) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    std::optional<PartitionView> view = TRY(find_partition(fleet, name));
    if (!view) return not_there(name);
    Txn txn = TRY(make(*view));
    if (txn.puts.empty() && txn.deletes.empty()) return {};
    txn.compares.push_back(as_seen(fleet, *view));
    const TxnResult result = TRY(commit_if_known(fleet, std::move(txn)));
    if (result.done) return {};
    TRY(check_fences(fleet, result));
    TRY(check_told(fleet, result));
  }
  return Error(Code::kBusy, str(text_of(name), " changes all the time; try again"));
}

Status if_there(Status done) {
  return !done.ok() && done.error().code() == Code::kNotFound ? Status() : std::move(done);
}

}  // namespace hook::fleet
