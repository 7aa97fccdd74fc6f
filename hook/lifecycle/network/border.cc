// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/border.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/names.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/network/network_lock.h"
#include "netns/border.h"
#include "netns/session.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using netns::BorderMember;
using netns::BorderParent;

constexpr uint64_t kBorderLock = 0;  // no namespace has this cookie

bool is_macvlan(const ledger::RailLease& rail) { return rail.kind == netns::LinkKind::kMacvlan; }

std::vector<BorderMember> members_of(const std::string& lease, const netns::NetworkPlan& plan) {
  std::vector<BorderMember> members;
  for (const netns::RailPlan& rail : plan.rails) {
    if (rail.kind != netns::LinkKind::kMacvlan) continue;
    members.push_back({lease, rail.mac, rail.address, rail.peers});
  }
  return members;
}

// Returns the macvlans of all leases that are attached or being attached, each with the peers of
// all that share it. A lease that ends closes the border before it is free, and is not let in
// again.
std::vector<BorderMember> all_members(const std::vector<ledger::Lease>& live) {
  std::map<std::string, std::vector<ledger::Lease>> attachments;
  for (const ledger::Lease& lease : live) {
    const bool is_attached = lease.netns_id >= 0 && lease.state != ledger::LeaseState::kReleasing;
    if (is_attached && !lease.rails.empty()) attachments[lease.attachment].push_back(lease);
  }
  std::vector<BorderMember> all;
  for (const auto& [attachment, leases] : attachments) {
    const std::vector<BorderMember> members =
        members_of(leases.front().id, plan::network_plan(leases, {}));
    all.insert(all.end(), members.begin(), members.end());
  }
  return all;
}

// The parent of a macvlan of a live lease.
struct LiveParent {
  std::string recorded;  // its name when the lease was made
  netns::Link now;
};

// Which macvlans to ask for their parent. Usually all macvlans of one parent are on the same
// interface, because other starts are refused.
enum class Asked { kAll, kOneOfEachParent };

// Asks the kernel for the parent, in the host's namespace HOST_ID, of the macvlan of RAIL in
// NETNS_ID. There is none if the macvlan is gone, or its parent was moved to another namespace.
Result<std::optional<netns::Link>> parent_of(netns::Session& session, int32_t host_id,
                                             int32_t netns_id, const ledger::RailLease& rail) {
  const std::optional<netns::Link> link = TRY(session.find_link_in(netns_id, rail.interface));
  if (!link || link->mac != rail.mac || link->parent_netns != host_id)
    return std::optional<netns::Link>();
  return session.find_link(link->parent);
}

// A parent may have been renamed since.
Result<std::vector<LiveParent>> live_parents(const std::vector<ledger::Lease>& live, Asked which,
                                             netns::Session& session,
                                             const netns::Namespace& host) {
  const int32_t host_id = TRY(session.ensure_netns_id(host));
  std::vector<LiveParent> parents;
  std::set<netns::MacAddress> asked;
  const auto is_known = [&](const std::string& parent) {
    return std::any_of(parents.begin(), parents.end(),
                       [&](const LiveParent& each) { return each.recorded == parent; });
  };
  for (const ledger::Lease& lease : live) {
    for (const ledger::RailLease& rail : lease.rails) {
      const bool has_one = is_macvlan(rail) && lease.netns_id >= 0;
      const bool is_enough = which == Asked::kOneOfEachParent && is_known(rail.parent);
      if (!has_one || is_enough || !asked.insert(rail.mac).second) continue;
      const std::optional<netns::Link> parent =
          TRY(parent_of(session, host_id, lease.netns_id, rail));
      if (parent) parents.push_back({rail.parent, *parent});
    }
  }
  return parents;
}

// Refuses a second interface on a rail: the one on which its containers run was renamed, and
// another has its name.
Status check_parents(const netns::NetworkPlan& plan, const std::vector<LiveParent>& parents,
                     netns::Session& session) {
  for (const netns::RailPlan& rail : plan.rails) {
    if (rail.kind != netns::LinkKind::kMacvlan) continue;
    const std::optional<netns::Link> named = TRY(session.find_link(rail.parent));
    for (const LiveParent& parent : parents) {
      if (!named || parent.recorded != rail.parent || parent.now.index == named->index) continue;
      return Error(Code::kBusy, str("containers of rail '", rail.parent,
                                    "' run on an interface that is named '", parent.now.name,
                                    "' now; give both interfaces their old names, or stop"
                                    " these containers first (see 'ipuctl ps')"));
    }
  }
  return {};
}

netns::Others others_of(const std::vector<BorderParent>& configured, const std::string& name) {
  const auto found = std::find_if(configured.begin(), configured.end(),
                                  [&](const BorderParent& each) { return each.name == name; });
  return found == configured.end() ? netns::Others::kPass : found->others;
}

// Returns the parents of the configuration, and those that live leases have: by their names of an
// earlier configuration, and by those that they have now.
std::vector<BorderParent> all_parents(std::vector<BorderParent> configured,
                                      const std::vector<ledger::Lease>& live,
                                      const std::vector<LiveParent>& parents) {
  for (const ledger::Lease& lease : live) {
    for (const ledger::RailLease& rail : lease.rails) {
      if (!is_macvlan(rail)) continue;
      const auto same = [&](const BorderParent& parent) { return parent.name == rail.parent; };
      if (std::any_of(configured.begin(), configured.end(), same)) continue;
      configured.push_back({rail.parent, netns::Others::kPass});
    }
  }
  for (const LiveParent& parent : parents) {
    const auto same = [&](const BorderParent& each) { return each.name == parent.now.name; };
    if (std::any_of(configured.begin(), configured.end(), same)) continue;
    configured.push_back({parent.now.name, others_of(configured, parent.recorded)});
  }
  std::sort(configured.begin(), configured.end());
  return configured;
}

// Returns whether LEASE was attached from HOST since the last boot.
bool is_attached_from(const ledger::Lease& lease, const netns::Namespace& host,
                      const std::string& boot) {
  return lease.netns_id >= 0 && lease.boot_id == boot &&
         lease.host_netns_cookie == host.identity().cookie;
}

// Returns the orders of the newest lease that has a border; nothing if none has.
std::optional<plan::AttachOrders> newest_orders(Env& env, const std::vector<ledger::Lease>& live,
                                                const netns::Namespace& host,
                                                const std::string& boot) {
  std::optional<plan::AttachOrders> newest;
  int64_t created_ms = -1;
  for (const ledger::Lease& lease : live) {
    if (lease.created_ms <= created_ms || !is_attached_from(lease, host, boot)) continue;
    const Result<std::string> text =
        inject::read_lease_file(env.run_dir, lease.id, plan::kOrdersFile);
    if (!text.ok()) continue;
    Result<plan::AttachOrders> orders = plan::parse_orders(text.value());
    if (!orders.ok() || orders.value().filter == netns::FilterPlace::kNamespace) continue;
    newest = std::move(orders).take();
    created_ms = lease.created_ms;
  }
  return newest;
}

// Leaves the host as it was before the first container.
Result<Mended> remove_if_empty(const netns::Namespace& host) {
  if (!TRY(netns::admitted(host)).empty()) return Mended::kNo;
  const base::Removed removed = TRY(netns::remove_border(host));
  return removed == base::Removed::kNow ? Mended::kYes : Mended::kNo;
}

// Takes out who is none of MEMBERS, and the border if nobody is left and it MAY_GO.
Result<Mended> remove_strangers(const std::vector<BorderMember>& members, bool may_go,
                                const netns::Namespace& host) {
  std::vector<netns::MacAddress> strangers;
  const Result<std::vector<netns::Admitted>> all = netns::admitted(host);
  if (!all.ok() && all.error().code() == Code::kDenied) return Mended::kNo;
  for (const netns::Admitted& admitted : TRY(all)) {
    const auto same = [&](const BorderMember& member) { return member.mac == admitted.mac; };
    if (std::none_of(members.begin(), members.end(), same)) strangers.push_back(admitted.mac);
  }
  if (!strangers.empty()) TRY(netns::retain(host, strangers, {}));
  const Mended removed = may_go ? TRY(remove_if_empty(host)) : Mended::kNo;
  return strangers.empty() ? removed : Mended::kYes;
}

// A container that needs no border must pass one that others have made.
Status admit_if_there(const netns::Namespace& host, const std::vector<BorderMember>& members) {
  Status admitted = netns::admit(host, members);
  if (!admitted.ok() && admitted.error().code() == Code::kNotFound) return {};
  return admitted;
}

// Returns kNo where the kernel cannot and nobody requires it.
Result<Mended> build(const netns::Namespace& host, netns::FilterPlace place,
                     const std::vector<BorderParent>& parents,
                     const std::vector<BorderMember>& members) {
  const Result<netns::FilterPlace> built = netns::build_border(host, place, parents, members);
  if (built.ok()) return Mended::kYes;
  const bool may_do_without = place == netns::FilterPlace::kAuto;
  if (built.error().code() == Code::kUnsupported && may_do_without) return Mended::kNo;
  return built.error();
}

std::vector<netns::MacAddress> macs_of(const ledger::Lease& lease) {
  std::vector<netns::MacAddress> macs;
  for (const ledger::RailLease& rail : lease.rails) {
    if (is_macvlan(rail)) macs.push_back(rail.mac);
  }
  return macs;
}

}  // namespace

Status open_border(Env& env, const ledger::Lease& lease, const plan::AttachOrders& orders,
                   const netns::NetworkPlan& plan, const netns::Namespace& host,
                   const Deadline& deadline) {
  const std::vector<BorderMember> members = members_of(lease.id, plan);
  if (members.empty()) return {};
  const NetworkLock lock = TRY(NetworkLock::take(env.run_dir, kBorderLock, deadline));
  if (orders.filter == netns::FilterPlace::kNamespace) return admit_if_there(host, members);
  const std::vector<ledger::Lease> live = TRY(env.ledger.live());
  netns::Session session = TRY(netns::Session::open(host));
  for (const Asked which : {Asked::kOneOfEachParent, Asked::kAll}) {
    const std::vector<LiveParent> of_live = TRY(live_parents(live, which, session, host));
    TRY(check_parents(plan, of_live, session));
    const std::vector<BorderParent> parents = all_parents(orders.parents, live, of_live);
    if (TRY(netns::admit_if_stands(host, orders.filter, parents, members))) return {};
    if (which == Asked::kAll) TRY(build(host, orders.filter, parents, all_members(live)));
  }
  return {};
}

Status close_border(Env& env, const ledger::Lease& lease, const netns::NetworkPlan& plan,
                    const netns::Namespace& host, const Deadline& deadline) {
  const std::vector<netns::MacAddress> macs = macs_of(lease);
  if (macs.empty()) return {};
  const NetworkLock lock = TRY(NetworkLock::take(env.run_dir, kBorderLock, deadline));
  TRY(netns::retain(host, macs, members_of(lease.id, plan)));
  TRY(remove_if_empty(host));
  return {};
}

Result<netns::Presence> find_in_border(const ledger::Lease& lease, const netns::Namespace& host) {
  const std::vector<netns::MacAddress> macs = macs_of(lease);
  if (macs.empty()) return netns::Presence::kGone;
  for (const netns::Admitted& admitted : TRY(netns::admitted(host))) {
    if (std::find(macs.begin(), macs.end(), admitted.mac) != macs.end())
      return netns::Presence::kThere;
  }
  return netns::Presence::kGone;
}

Result<Mended> mend_border(Env& env, const Deadline& deadline) {
  if (!env.is_only_ledger) return Mended::kNo;
  const netns::Namespace host = TRY(netns::Namespace::current());
  const std::string boot = TRY(base::boot_id());
  const NetworkLock lock = TRY(NetworkLock::take(env.run_dir, kBorderLock, deadline));
  const std::vector<ledger::Lease> live = TRY(env.ledger.live());
  const std::vector<BorderMember> members = all_members(live);
  const std::optional<plan::AttachOrders> orders = newest_orders(env, live, host, boot);
  if (!orders) return remove_strangers(members, true, host);
  netns::Session session = TRY(netns::Session::open(host));
  const std::vector<LiveParent> of_live = TRY(live_parents(live, Asked::kAll, session, host));
  // A release that waits for its controller has removed the border already. One that has not come
  // to its macvlan needs the border, which then lets nothing of it pass.
  const bool may_go = of_live.empty();
  if (members.empty() && may_go) return remove_strangers(members, may_go, host);
  const std::vector<BorderParent> parents = all_parents(orders->parents, live, of_live);
  if (TRY(netns::border_stands(host, orders->filter, parents)))
    return remove_strangers(members, may_go, host);
  TRY(build(host, orders->filter, parents, members));
  // Not if its parents are gone.
  const bool is_mended = TRY(netns::border_stands(host, orders->filter, parents));
  return is_mended ? Mended::kYes : Mended::kNo;
}

}  // namespace hook::lifecycle::network
