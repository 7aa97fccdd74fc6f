// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/duplicate_probe.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/plan/orders.h"
#include "netns/probe.h"

namespace hook::lifecycle::network {

using namespace base::names;

Status probe_lease(const std::string& run_dir, const std::string& lease_id) {
  const ledger::Lease lease = TRY(inject::read_lease_record(run_dir, lease_id));
  const std::string text = TRY(inject::read_lease_file(run_dir, lease_id, plan::kOrdersFile));
  const plan::AttachOrders orders = TRY(plan::parse_orders(text));
  const netns::Namespace host = TRY(netns::Namespace::current());
  plan::ProbeReport report;
  for (const ledger::RailLease& rail : lease.rails) {
    const auto deadline = Deadline::after(orders.probe);
    const Result<std::optional<netns::MacAddress>> answer =
        netns::probe_address(host, rail.parent, rail.address, deadline);
    if (answer.ok() && answer.value()) report[rail.interface] = *answer.value();
  }
  // Does not recreate a directory that a release has removed: nobody would remove it again.
  return inject::put_lease_file(run_dir, lease_id, plan::kProbeFile, plan::to_text(report));
}

}  // namespace hook::lifecycle::network
