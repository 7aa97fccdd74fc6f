// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/fleet_inspect.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "tests/fault/world.h"

namespace fault {

using namespace base::names;

namespace {

using Found = std::vector<std::string>;

bool is_used(const LeaseRow& lease) {
  return lease.state == "ALLOCATED" || lease.state == "RUNNING";
}

void check_leads(const FleetView& view, const LedgerView* ledger, Found& found) {
  for (const FleetClaim& claim : view.claims) {
    if (claim.host == kDeadHost || claim.is_reset) continue;
    const LeaseRow* const lease = ledger == nullptr ? nullptr : ledger->find(claim.id);
    if (lease != nullptr && lease->live && lease->partition == claim.partition) continue;
    found.push_back(str("no live lease leads to claim ", claim.id));
  }
  for (const FleetGrant& grant : view.grants) {
    const LeaseRow* const lease = ledger == nullptr ? nullptr : ledger->find(grant.id);
    const bool is_reserved =
        ledger != nullptr && grant.container.empty() && ledger->leads_to_partition(grant.id);
    if (!is_reserved && (lease == nullptr || !lease->live))
      found.push_back(str("no live lease leads to grant ", grant.id));
  }
}

// A reset has all GCDs of its partition.
void check_gcds(const FleetView& view, Found& found) {
  for (size_t i = 0; i < view.claims.size(); ++i) {
    for (size_t j = i + 1; j < view.claims.size(); ++j) {
      const FleetClaim& one = view.claims[i];
      const FleetClaim& other = view.claims[j];
      const FleetPartition* const partition = view.find(one.partition);
      const bool may_share = partition != nullptr && partition->shared;
      const bool overlap = one.gcd < other.gcd + other.gcds && other.gcd < one.gcd + one.gcds;
      if (one.partition == other.partition && overlap && !may_share)
        found.push_back(str("claims ", one.id, " and ", other.id, " have one GCD"));
    }
  }
}

void check_dirty(const FleetView& view, Found& found) {
  for (const FleetClaim& claim : view.claims) {
    const FleetPartition* const partition = view.find(claim.partition);
    if (!claim.uses || claim.host == kDeadHost || partition == nullptr) continue;
    if (!partition->dirty)
      found.push_back(str(claim.partition, " is used, and nobody is to reset it"));
  }
}

// A lease of before the fleet has no claim: it is shared before another host can adopt its
// partition.
void check_held(const FleetView& view, const LedgerView& ledger, Found& found) {
  const bool may_claim = view.is_open && view.untold.empty();
  for (const LeaseRow& lease : ledger.leases) {
    if (!is_used(lease) || lease.claim.empty()) continue;
    const bool is_own = lease.origin == "OWN";
    const FleetClaim* const claim = view.claim(lease.claim);
    const bool is_claimed = claim != nullptr && claim->uses && claim->partition == lease.partition;
    if (!is_own && !is_claimed && may_claim)
      found.push_back(str("others may claim what container ", lease.container, " has"));
    const auto names_it = [&](const FleetGrant& grant) {
      return grant.id == lease.claim && grant.partition == lease.partition;
    };
    const bool is_granted = std::any_of(view.grants.begin(), view.grants.end(), names_it);
    if (is_own && lease.partition.starts_with("f-") && !is_granted)
      found.push_back(
          str("no grant says that container ", lease.container, " has ", lease.partition));
  }
}

void check_grants_left(const FleetView& view, const LedgerView* ledger, Found& found) {
  for (const FleetGrant& grant : view.grants) {
    const bool is_reserved =
        ledger != nullptr && grant.container.empty() && ledger->leads_to_partition(grant.id);
    if (grant.container != kBystanderName && !is_reserved)
      found.push_back(
          str("left in the fleet: grant ", grant.id, " of container ", grant.container));
  }
}

void check_named(const FleetView& view, const LedgerView* ledger, Found& found) {
  std::set<std::string> named;
  for (const PartitionRow& row :
       ledger == nullptr ? std::vector<PartitionRow>() : ledger->partitions) {
    if (row.kind != "NAMED" || row.name.starts_with("r-")) continue;
    named.insert(row.name);
    if (row.fleet.empty()) found.push_back(str("the ledger has not shared partition ", row.name));
    if (view.find(row.name) == nullptr)
      found.push_back(str("the fleet has no partition ", row.name));
  }
  for (const auto& [name, partition] : view.partitions) {
    if (!named.contains(name)) found.push_back(str("left in the fleet: partition ", name));
    if (partition.phase != "READY")
      found.push_back(str("in the fleet, partition ", name, " is ", partition.phase));
  }
}

}  // namespace

std::set<std::string> warm_names(const FleetView& view) {
  std::set<std::string> names;
  for (const auto& [name, phase] : view.warm) names.insert(name);
  for (const FleetGrant& grant : view.grants) names.insert(grant.partition);
  return names;
}

Status inspect_fleet(const FleetView& view, Findings& findings) {
  Found& found = findings.violations;
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  check_leads(view, ledger ? &*ledger : nullptr, found);
  check_gcds(view, found);
  check_dirty(view, found);
  if (ledger) check_held(view, *ledger, found);
  for (const FleetGrant& grant : view.grants)
    if (view.warm.contains(grant.partition))
      found.push_back(str(grant.partition, " is granted, and kept warm"));
  for (const std::string& key : view.strange) found.push_back(str("a strange key: ", key));
  return {};
}

Status inspect_fleet_rest(const FleetView& view, Findings& findings) {
  Found& found = findings.violations;
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  check_named(view, ledger ? &*ledger : nullptr, found);
  check_grants_left(view, ledger ? &*ledger : nullptr, found);
  for (const FleetClaim& claim : view.claims)
    found.push_back(str("left in the fleet: claim ", claim.id, " of host ", claim.host));
  for (const auto& [name, phase] : view.warm)
    if (phase != "idle") found.push_back(str("in the fleet, warm partition ", name, " is ", phase));
  for (const std::string& who : view.waiting)
    found.push_back(str("left in the fleet: the place of ", who));
  if (view.is_imported) found.push_back("left in the fleet: an import");
  for (const std::string& host : view.untold)
    found.push_back(str("left in the fleet: host ", host, " has not told"));
  return {};
}

}  // namespace fault
