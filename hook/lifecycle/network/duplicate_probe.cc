// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/duplicate_probe.h"

#include "base/fd.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/plan/orders.h"
#include "netns/probe.h"

namespace hook::lifecycle::network {

using namespace base::names;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kProbeGrace{50};  // extra time for the probe's process to start
constexpr milliseconds kLookAgain{1};

// Refuses an address that another host answers for: it would divert that host's traffic, or ours.
Status refuse_duplicate(Env& env, const ledger::Lease& lease, const plan::ProbeReport& report) {
  for (const ledger::RailLease& rail : lease.rails) {
    const auto found = report.find(rail.interface);
    if (found == report.end()) continue;
    TRY(env.ledger.note_duplicate(lease, rail.interface, found->second));
    return Error(
        Code::kExists,
        str("address ", netns::to_string(rail.address), " of rail '", rail.parent,
            "' is in use by another host with MAC ", netns::to_string(found->second),
            " and is set aside for ten minutes; start the container again. If this happens often, ",
            rail.by_ipu ? "a host has another 'base' or 'machines' of network.rail, or its 'range'"
                          " has addresses of 'base'"
                        : "two hosts have the same 'range' of network.rail"));
  }
  return {};
}

}  // namespace

Status await_probe(Env& env, const ledger::Lease& lease, milliseconds probe,
                   const Deadline& deadline) {
  if (probe.count() == 0) return {};
  const auto patience = deadline.capped(probe * static_cast<int>(lease.rails.size()) + kProbeGrace);
  for (;;) {
    const Result<std::string> text =
        inject::read_lease_file(env.run_dir, lease.id, plan::kProbeFile);
    if (text.ok()) {
      const plan::ProbeReport report = TRY(plan::parse_probe_report(text.value()));
      return refuse_duplicate(env, lease, report);
    }
    if (patience.passed()) return {};
    base::sleep_for(kLookAgain, patience);
  }
}

Status probe_lease(const std::string& run_dir, const std::string& lease_id) {
  const ledger::Lease lease = TRY(inject::read_lease_record(run_dir, lease_id));
  const std::string text = TRY(inject::read_lease_file(run_dir, lease_id, plan::kOrdersFile));
  const plan::AttachOrders orders = TRY(plan::parse_orders(text));
  const netns::Namespace host = TRY(netns::Namespace::current());
  plan::ProbeReport report;
  std::vector<base::Fd> sockets;  // open until the report is written, for which createRuntime waits
  for (const ledger::RailLease& rail : lease.rails) {
    const auto deadline = Deadline::after(orders.probe);
    Result<netns::Probed> answer = netns::probe_address(host, rail.parent, rail.address, deadline);
    if (!answer.ok()) continue;
    if (answer.value().claimant) report[rail.interface] = *answer.value().claimant;
    sockets.push_back(std::move(answer.value().socket));
  }
  // Does not recreate a directory that a release has removed: nobody would remove it again.
  return inject::put_lease_file(run_dir, lease_id, plan::kProbeFile, plan::to_text(report));
}

}  // namespace hook::lifecycle::network
