// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/network.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/device/rdma.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/plan/orders.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/endpoint/endpoint.h"
#include "hook/lifecycle/network/border.h"
#include "hook/lifecycle/network/duplicate_probe.h"
#include "hook/lifecycle/network/marks.h"
#include "hook/lifecycle/network/network_lock.h"
#include "hook/lifecycle/network/sharers.h"
#include "hook/lifecycle/recording.h"
#include "netns/attach.h"
#include "netns/handle.h"
#include "netns/session.h"
#include "netns/sysfs.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using base::ProcessId;
using std::chrono::milliseconds;

constexpr milliseconds kRetry{1};

bool holds_functions(const ledger::Lease& lease) {
  return std::any_of(lease.rails.begin(), lease.rails.end(), [](const ledger::RailLease& rail) {
    return rail.kind == netns::LinkKind::kFunction;
  });
}

// Returns "roce0 with 10.5.200.10 and MAC 02:.. in network namespace 4026532301".
std::string interfaces_text(const ledger::Lease& lease, const netns::Namespace& target) {
  std::string text;
  for (const ledger::RailLease& rail : lease.rails) {
    text += str(text.empty() ? "" : ", ", rail.interface, " with ", netns::to_string(rail.address),
                " and MAC ", netns::to_string(rail.mac));
  }
  return str(text, " in network namespace ", target.identity().inode);
}

Result<plan::AttachOrders> orders_of(Env& env, const ledger::Lease& lease) {
  const std::string text = TRY(inject::read_lease_file(env.run_dir, lease.id, plan::kOrdersFile));
  return plan::parse_orders(text);
}

Status make_interfaces(Env& env, ledger::Lease& lease, const plan::AttachOrders& orders,
                       const netns::Namespace& host, const netns::Namespace& target,
                       const Deadline& deadline) {
  const NetworkLock lock = TRY(NetworkLock::take(env.run_dir, target.identity().cookie, deadline));
  TRY(check_unchanged(env, lease));
  std::vector<ledger::Lease> sharers = TRY(env.ledger.sharers(lease));
  sharers.insert(sharers.begin(), lease);
  if (holds_functions(lease)) {
    TRY(netns::keep(kept_namespaces(env), lease.attachment, target));
  }
  const netns::NetworkPlan plan = TRY(plan_of(env, sharers));
  // First, so that no interface is ever up without them.
  TRY(mark_namespace(env.run_dir, lease));
  TRY(open_border(env, lease, orders, plan, host, deadline));
  const auto call = [&] { return netns::attach(plan, host, target); };
  TRY(recorded(env.ledger, lease.id, ledger::EventKind::kKernel, interfaces_text(lease, target),
               call, [](const auto&) { return "there"; }));
  return {};
}

Error no_gid(const plan::AttachOrders::Port& port, const ledger::RailLease& rail,
             const Result<device::GidTable>& seen) {
  if (!seen.ok()) return seen.error();
  const device::GidTable& table = seen.value();
  const bool is_full = table.used.size() >= table.size;
  return {is_full ? Code::kBusy : Code::kTimeout,
          str("RDMA device '", port.device, "' port ", port.port, " has no RoCE v2 GID for ",
              netns::to_string(rail.address), " (", table.used.size(), " of ", table.size,
              " entries used)",
              is_full ? "; the table is full: stop another container"
                      : "; see 'rdma link' and the kernel's log, or raise network.gid_wait")};
}

// Waits for the GID of an address. The kernel puts the address into the RNIC's table some time
// after it was assigned, or silently never. A function's device may vanish and come back when it
// changes its namespace.
Result<device::Gid> await_gid(const std::string& sysfs, const plan::AttachOrders::Port& port,
                              const ledger::RailLease& rail, const Deadline& deadline) {
  for (;;) {
    const Result<device::GidTable> table = device::read_gids(sysfs, port.device, port.port);
    if (table.ok()) {
      const std::optional<device::Gid> gid =
          device::find_roce_v2_gid(table.value().used, rail.address);
      if (gid) return *gid;
    }
    if (deadline.passed()) return no_gid(port, rail, table);
    base::sleep_for(kRetry, deadline);
  }
}

// Returns the sysfs that shows the RDMA devices of TARGET: the host's, unless they were moved.
Result<std::optional<netns::Sysfs>> own_sysfs(Env& env, const ledger::Lease& lease,
                                              const netns::Namespace& target) {
  if (!holds_functions(lease)) return std::optional<netns::Sysfs>();
  const std::optional<netns::RdmaMode> mode = TRY(env.host.rdma_mode());
  if (mode != netns::RdmaMode::kExclusive) return std::optional<netns::Sysfs>();
  return std::optional<netns::Sysfs>(TRY(netns::Sysfs::of(target)));
}

Status publish_gids(Env& env, const ledger::Lease& lease, const plan::AttachOrders& orders,
                    const netns::Namespace& target, const Deadline& deadline) {
  if (orders.ports.empty()) return {};
  const std::optional<netns::Sysfs> own = TRY(own_sysfs(env, lease, target));
  const auto sysfs = [&](const ledger::RailLease& rail) {
    return own && rail.kind == netns::LinkKind::kFunction ? own->path() : env.sysfs;
  };
  std::map<std::string, device::Gid> gids;
  const auto patience = deadline.capped(orders.gid_wait);
  for (const plan::AttachOrders::Port& port : orders.ports) {
    for (const ledger::RailLease& rail : lease.rails) {
      if (rail.interface != port.interface) continue;
      gids[rail.interface] = TRY(await_gid(sysfs(rail), port, rail, patience));
    }
  }
  const std::string text = TRY(inject::read_lease_file(env.run_dir, lease.id, plan::kLeaseFile));
  const std::string complete = TRY(plan::with_gids(text, gids));
  return inject::put_lease_file(env.run_dir, lease.id, plan::kLeaseFile, complete);
}

Status remove_interfaces(Env& env, const ledger::Lease& lease, const netns::Namespace& host) {
  std::optional<netns::Namespace> kept;
  if (holds_functions(lease)) {
    kept = TRY(netns::find_kept(kept_namespaces(env), lease.attachment));
  }
  for (const ledger::RailLease& rail : lease.rails) {
    if (rail.kind == netns::LinkKind::kFunction) {
      TRY(netns::give_back(plan::rail_plan(rail), host, kept ? &*kept : nullptr));
    } else {
      TRY(netns::detach(host, lease.netns_id, rail.interface, rail.mac));
    }
  }
  // Needed even if none was found: keep() may have been interrupted after it made the file.
  if (holds_functions(lease)) TRY(netns::drop(kept_namespaces(env), lease.attachment));
  return {};
}

// Returns the host's namespace from which LEASE was attached, which is this one. Absent if the
// lease was never attached, or before the last boot: namespaces do not outlive the kernel.
Result<std::optional<netns::Namespace>> attached_from(const ledger::Lease& lease) {
  const std::string boot = TRY(base::boot_id());
  const bool never_attached = lease.netns_id < 0;
  if (never_attached || lease.boot_id != boot) return std::optional<netns::Namespace>();
  netns::Namespace host = TRY(netns::Namespace::current());
  if (host.identity().cookie == lease.host_netns_cookie) {
    return std::optional<netns::Namespace>(std::move(host));
  }
  return Error(Code::kUnsupported,
               "the container was attached from another network namespace; run 'ipuctl gc' in the"
               " network namespace of the host");
}

// Returns whether an interface exists. A function is in the container as long as it is not on the
// host.
Result<netns::Presence> find_interface(const netns::Namespace& host, const ledger::Lease& lease,
                                       const ledger::RailLease& rail) {
  if (rail.kind == netns::LinkKind::kMacvlan) {
    return netns::find_attached(host, lease.netns_id, rail.interface, rail.mac);
  }
  netns::Session session = TRY(netns::Session::open(host));
  const std::optional<netns::Link> link = TRY(session.find_link(rail.parent));
  return link && link->mac == rail.mac ? netns::Presence::kGone : netns::Presence::kThere;
}

bool same_ipus(const std::vector<ledger::LeasedIpu>& a, const std::vector<ledger::LeasedIpu>& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
}

// Checks that the lease's interfaces reach IPUS, because a running container gets no new interface.
Status check_reached(const ledger::Lease& lease, const std::vector<ledger::LeasedIpu>& ipus) {
  for (const ledger::LeasedIpu& ipu : ipus) {
    const auto reaches = [&](const ledger::RailLease& rail) {
      return rail.subnet.contains(ipu.address);
    };
    if (std::any_of(lease.rails.begin(), lease.rails.end(), reaches)) continue;
    return Error(Code::kUnsupported,
                 str("the partition of container ", base::short_id(lease.container),
                     " has moved to ", netns::to_string(ipu.address),
                     ", which no interface of the container reaches;"
                     " start the container again"));
  }
  return {};
}

// Checks that no address of the lease follows from its IPUs: another host gives it to whoever gets
// the IPUs that LEASE had.
Status check_addresses_stay(const ledger::Lease& lease) {
  const bool moves = std::any_of(lease.rails.begin(), lease.rails.end(),
                                 [](const ledger::RailLease& rail) { return rail.by_ipu; });
  if (!moves) return {};
  return Error(Code::kUnsupported,
               str("the partition of container ", base::short_id(lease.container),
                   " has moved to other IPUs, and its address belongs to those that it had;"
                   " start the container again"));
}

// Asks for the configurations of the lease's GCDs. All of them are asked for with one question.
Result<vipu::Grant> config_of(vipu::Controller& controller, const ledger::Lease& lease,
                              const Deadline& deadline) {
  if (lease.gcds == 1) {
    vipu::Grant grant = TRY(controller.config(lease.partition, lease.gcd, deadline));
    if (grant.gcds.size() == 1) return grant;
    return Error(Code::kInternal, str("the controller returned ", grant.gcds.size(),
                                      " configurations instead of one for GCD ", lease.gcd,
                                      " of partition ", base::quote(lease.partition)));
  }
  vipu::Grant grant = TRY(controller.config(lease.partition, std::nullopt, deadline));
  grant.gcds = TRY(plan::gcds_of(lease, grant.gcds));
  return grant;
}

// Returns whether the container's IPUoF files have GRANT.
Result<bool> has_written(Env& env, const ledger::Lease& lease, const vipu::Grant& grant) {
  for (size_t i = 0; i < grant.gcds.size(); ++i) {
    const Result<std::string> written =
        inject::read_lease_file(env.run_dir, lease.id, plan::ipuof_file(lease, i));
    // A container may hold a lease on the file. A new one takes its place then.
    if (!written.ok() && written.error().sys_errno() != EWOULDBLOCK) return written.error();
    if (!written.ok() || written.value() != vipu::to_ipuof_file(grant.gcds[i])) return false;
  }
  return true;
}

// Closes the border to the IPU-Machines that the lease has left.
Status close_behind(Env& env, const ledger::Lease& lease, const netns::Namespace& host,
                    const Deadline& deadline) {
  std::vector<ledger::Lease> sharers = TRY(env.ledger.sharers(lease));
  sharers.insert(sharers.begin(), lease);
  return close_border(env, lease, TRY(plan_of(env, sharers)), host, deadline);
}

}  // namespace

Status connect_lease(Env& env, ledger::Lease& lease, const ProcessId& init,
                     const Deadline& deadline) {
  const ProcessId self = TRY(base::current_process());
  const netns::Namespace host = TRY(netns::Namespace::current());
  const netns::Namespace target = TRY(netns::Namespace::of_process(init.pid));
  const int32_t netns_id = TRY(netns::ensure_id(host, target));
  // Recorded before the interface exists, so that it can be found and removed whatever happens
  // next.
  TRY(env.ledger.begin_attach(lease, self, {target.identity(), netns_id, host.identity().cookie}));
  const plan::AttachOrders orders = TRY(orders_of(env, lease));
  TRY(await_probe(env, lease, orders.probe, deadline));
  TRY(make_interfaces(env, lease, orders, host, target, deadline));
  return publish_gids(env, lease, orders, target, deadline);
}

Result<Connected> if_connected(Env& env, const ledger::Lease& lease, const Deadline& deadline,
                               const std::function<Status()>& change) {
  const NetworkLock lock = TRY(NetworkLock::take(env.run_dir, lease.netns.cookie, deadline));
  const netns::Namespace host = TRY(netns::Namespace::current());
  for (const ledger::RailLease& rail : lease.rails) {
    const netns::Presence found = TRY(find_interface(host, lease, rail));
    if (found == netns::Presence::kGone) return Connected::kNo;
  }
  TRY(change());
  return Connected::kYes;
}

Result<netns::Presence> find_interfaces(Env&, const ledger::Lease& lease, const Deadline&) {
  const std::optional<netns::Namespace> host = TRY(attached_from(lease));
  if (!host) return netns::Presence::kGone;
  for (const ledger::RailLease& rail : lease.rails) {
    const netns::Presence found = TRY(find_interface(*host, lease, rail));
    if (found == netns::Presence::kThere) return found;
  }
  return find_in_border(lease, *host);
}

Status disconnect_lease(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const std::optional<netns::Namespace> attached = TRY(attached_from(lease));
  if (!attached) return {};
  const netns::Namespace& host = *attached;
  const NetworkLock lock = TRY(NetworkLock::take(env.run_dir, lease.netns.cookie, deadline));
  const std::vector<ledger::Lease> sharers = TRY(env.ledger.sharers(lease));
  const std::optional<netns::Namespace> shared = TRY(find_namespace(env, lease, sharers));
  // If no process leads into the namespace, the interfaces are removed. A lease that shares them
  // and is starting makes them again.
  if (!shared) {
    return recorded(
        env.ledger, lease.id, ledger::EventKind::kKernel,
        str("interfaces in network namespace ", lease.netns.inode),
        [&]() -> Status {
          TRY(remove_interfaces(env, lease, host));
          TRY(unmark_namespace(env.run_dir, lease));
          return close_border(env, lease, {}, host, deadline);
        },
        [](const auto&) { return "gone"; });
  }
  const netns::NetworkPlan plan = TRY(plan_of(env, sharers));
  TRY(netns::attach(plan, host, *shared));
  TRY(unmark_namespace(env.run_dir, lease));
  return close_border(env, lease, plan, host, deadline);
}

Result<Refreshed> refresh_lease(Env& env, ledger::Lease& lease, const Deadline& deadline,
                                const CheckMoved& check) {
  if (lease.state != ledger::LeaseState::kRunning || lease.rails.empty()) return Refreshed::kSame;
  const std::unique_ptr<vipu::Controller> controller =
      recorded_controller(env, lease.pool, lease.controller);
  const vipu::Grant grant = TRY(config_of(*controller, lease, deadline));
  const std::vector<ledger::LeasedIpu> ipus = TRY(plan::leased_ipus(grant.gcds, lease.ipus));
  const bool is_recorded = same_ipus(ipus, lease.devices);
  // The IPUoF files are written last: if one is out of date, a refresh was interrupted.
  if (TRY(has_written(env, lease, grant)) && is_recorded) return Refreshed::kSame;
  TRY(check_reached(lease, ipus));
  if (check) TRY(check(grant, ipus));
  const netns::Namespace host = TRY(netns::Namespace::current());
  const netns::Namespace target = TRY(netns::Namespace::of_process(lease.owner.pid));
  if (target.identity() != lease.netns) {
    return Error(Code::kNotFound, str("container ", lease.container, " has ended"));
  }
  if (!is_recorded) TRY(check_addresses_stay(lease));
  if (!is_recorded) TRY(env.ledger.mark_relocated(lease, ipus));
  TRY(inject::write_lease_record(env.run_dir, lease));
  const plan::AttachOrders orders = TRY(orders_of(env, lease));
  TRY(make_interfaces(env, lease, orders, host, target, deadline));
  TRY(close_behind(env, lease, host, deadline));
  TRY(endpoint::replace_answers(env, *controller, lease, grant.gcds, deadline));
  for (size_t i = 0; i < grant.gcds.size(); ++i) {
    const std::string file = vipu::to_ipuof_file(grant.gcds[i]);
    TRY(inject::put_lease_file(env.run_dir, lease.id, plan::ipuof_file(lease, i), file));
  }
  return Refreshed::kMoved;
}

}  // namespace hook::lifecycle::network
