// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/claim_addresses.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"
#include "hook/fleet/partition_change.h"
#include "hook/fleet/partition_text.h"
#include "hook/fleet/restored.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using Addresses = std::vector<std::string>;

bool has(const Addresses& addresses, const std::string& address) {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

// Returns the claim other than MINE that has ADDRESS, which the GCDs of MINE give; null: none.
const Claim* holder_of(const PartitionView& view, const Claim& mine, const std::string& address) {
  const auto at = std::find_if(view.claims.begin(), view.claims.end(), [&](const Claim& other) {
    if (other.id == mine.id || !other.process.empty()) return false;
    return other.addresses ? has(*other.addresses, address) : overlap(other, mine);
  });
  return at == view.claims.end() ? nullptr : &*at;
}

Claim with(Claim claim, const Addresses& more) {
  Addresses all = claim.addresses.value_or(Addresses());
  for (const std::string& address : more)
    if (!has(all, address)) all.push_back(address);
  claim.addresses = std::move(all);
  return claim;
}

}  // namespace

Result<std::vector<HeldAddress>> claim_addresses(const Fleet& fleet, const PartitionName& name,
                                                 const std::string& id,
                                                 const Addresses& addresses) {
  std::vector<HeldAddress> held;
  const Status claimed = change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    const Claim* const mine = find_claim(view, id);
    if (mine == nullptr) {
      return Error(Code::kBusy, str("the claim of ", text_of(name),
                                    " was taken away; start the container again"));
    }
    held.clear();
    Addresses free;
    for (const std::string& address : addresses) {
      const Claim* const holder = holder_of(view, *mine, address);
      if (holder == nullptr)
        free.push_back(address);
      else
        held.push_back({address, *holder});
    }
    const Claim made = with(*mine, free);
    Txn txn;
    if (!view.facts.shared || made == *mine) return txn;
    txn.compares = {{fence_key(fleet.prefix, made.host), Compare::What::kCreated, 0}};
    require_all_told(fleet, txn);
    // The record changes, too: of two claims that ask at the same time, one asks again.
    txn.puts = {put_of(fleet, view), put_of(fleet, name, made)};
    return txn;
  });
  if (!claimed.ok()) return claimed.error();
  return held;
}

Status pass_addresses(const Fleet& fleet, const PartitionName& name, const std::string& id,
                      const std::string& heir, const Addresses& addresses) {
  Status passed = change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    Txn txn;
    txn.deletes = {claim_key(fleet.prefix, name, id)};
    const Claim* const next = find_claim(view, heir);
    if (next == nullptr) return txn;  // its host claims again what it has
    txn.compares = {
        {claim_key(fleet.prefix, name, heir), Compare::What::kModified, next->modified}};
    txn.puts = {put_of(fleet, name, with(*next, addresses))};
    return txn;
  });
  const bool is_unknown = !passed.ok() && passed.error().code() == Code::kNotFound;
  return is_unknown ? unclaim(fleet, name, id) : std::move(passed);
}

bool has_addresses(const Claim& claim, const Claim& wanted) {
  const Addresses all = wanted.addresses.value_or(Addresses());
  return std::all_of(all.begin(), all.end(), [&](const std::string& address) {
    return claim.addresses && has(*claim.addresses, address);
  });
}

}  // namespace hook::fleet
