// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/fleet_records.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

fleet::PartitionName name_of(const ledger::PartitionRecord& record) {
  return {record.pool, record.name};
}

fleet::PartitionName name_of(const ledger::Lease& lease) { return {lease.pool, lease.partition}; }

fleet::PartitionFacts facts_of(const Env& env, const ledger::PartitionRecord& record) {
  fleet::PartitionFacts facts;
  facts.maker = env.ledger.host().tag();
  facts.source = record.source;
  facts.ipus = record.ipus;
  facts.gcds = record.gcds;
  facts.shared = record.shared;
  facts.reconfigurable = record.reconfigurable;
  facts.adopted = record.kind == ledger::PartitionKind::kForeign;
  return facts;
}

std::vector<std::string> addresses_by_ipu(const ledger::Lease& lease) {
  std::vector<std::string> addresses;
  for (const ledger::RailLease& rail : lease.rails)
    if (rail.by_ipu) addresses.push_back(netns::to_string(rail.address));
  return addresses;
}

fleet::Claim claim_of(const Env& env, const ledger::Lease& lease) {
  fleet::Claim claim;
  claim.id = lease.claim;
  claim.host = env.ledger.host().tag();
  claim.container = base::one_line(lease.container, fleet::kMaxWord);
  claim.gcd = lease.gcd;
  claim.gcds = lease.gcds;
  claim.tenant = lease.tenant;
  claim.since_ms = lease.created_ms;
  // The interfaces of another container may have an address that other GCDs give.
  const bool may_differ = lease.origin == ledger::Origin::kShared || lease.attachment != lease.id;
  if (may_differ) claim.addresses = addresses_by_ipu(lease);
  return claim;
}

std::string process_text(const base::ProcessId& process, const std::string& boot) {
  return str(process.pid, ' ', process.start_time, ' ', process.pid_namespace, ' ', boot);
}

}  // namespace hook::lifecycle::partitions
