// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/checkpoint.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/plan/orders.h"
#include "hook/lifecycle/liveness.h"

namespace hook::lifecycle::start {
namespace {

using base::ProcessId;
using namespace base::names;

// Returns whether LEASE runs for the low-level runtime's container. The id alone does not tell:
// another root may have a container of that name, and so may a lease whose release is late.
bool is_lease_of(const ledger::Lease& lease, const std::string& container,
                 const std::string& state_dir) {
  if (lease.container != container || lease.state != ledger::LeaseState::kRunning) return false;
  const Result<ProcessId> init = recorded_init(state_dir);
  const Result<ProcessId> self = base::current_process();
  return init.ok() && self.ok() && init.value().pid == lease.owner.pid &&
         init.value().start_time == lease.owner.start_time &&
         self.value().pid_namespace == lease.owner.pid_namespace && base::is_running(lease.owner);
}

std::optional<ledger::Lease> find_lease(const std::string& run_dir, const std::string& container,
                                        const std::string& state_dir) {
  const Result<std::vector<std::string>> ids = inject::list_lease_dirs(run_dir);
  if (!ids.ok()) return std::nullopt;
  for (const std::string& id : ids.value()) {
    Result<ledger::Lease> lease = inject::read_lease_record(run_dir, id);
    if (lease.ok() && is_lease_of(lease.value(), container, state_dir)) {
      return std::move(lease).take();
    }
  }
  return std::nullopt;
}

// Returns the names of the lease's RDMA devices; none if they cannot be read.
std::vector<std::string> rdma_devices(const std::string& run_dir, const std::string& lease_id) {
  std::vector<std::string> names;
  const Result<std::string> text = inject::read_lease_file(run_dir, lease_id, plan::kOrdersFile);
  if (!text.ok()) return names;
  const Result<plan::AttachOrders> orders = plan::parse_orders(text.value());
  if (!orders.ok()) return names;
  for (const plan::AttachOrders::Port& port : orders.value().ports) {
    const bool is_there = std::find(names.begin(), names.end(), port.device) != names.end();
    if (!is_there) names.push_back(port.device);
  }
  return names;
}

}  // namespace

Status check_checkpoint(const std::string& run_dir, const std::string& container,
                        const std::string& state_dir) {
  if (container.empty() || state_dir.empty()) return {};
  const std::optional<ledger::Lease> lease = find_lease(run_dir, container, state_dir);
  if (!lease) return {};
  const std::vector<std::string> devices = rdma_devices(run_dir, lease->id);
  if (devices.empty()) return {};
  return base::Error(
      base::Code::kUnsupported,
      str("container ", base::short_id(container),
          " cannot be checkpointed: it has the RDMA device ", base::join(devices, ", "),
          ", whose memory and queue pairs CRIU cannot"
          " save; let the program save its own state, and start a new container"
          " from it"));
}

}  // namespace hook::lifecycle::start
