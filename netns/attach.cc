// SPDX-License-Identifier: Apache-2.0
#include "netns/attach.h"

#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "netns/filter.h"
#include "netns/session.h"

namespace netns {

using base::Code;
using base::Deadline;
using base::Error;
using base::quote;
using base::Removed;
using base::Result;
using base::Status;
using base::str;

namespace {

// A link whose namespace died keeps its MAC until the kernel has taken the namespace apart: 33 to
// 37 ms measured, more under load.
constexpr std::chrono::milliseconds kMacInUse{500};
constexpr std::chrono::milliseconds kRetry{5};

// Where both ends of an attachment are spoken to.
struct Sessions {
  Session host;
  Session target;
};

Status check(const AttachPlan& plan, const Namespace& host, const Namespace& target) {
  if (host.identity() == target.identity()) {
    return Error(Code::kInvalid, str("interface ", quote(plan.interface),
                                     ": the container has the host's network namespace"));
  }
  if (plan.interface.empty() || plan.interface.size() >= IFNAMSIZ) {
    return Error(Code::kInvalid, str("interface name ", quote(plan.interface), " has not 1 to ",
                                     IFNAMSIZ - 1, " characters"));
  }
  return {};
}

Result<Link> find_parent(Session& host, const std::string& name) {
  const std::optional<Link> parent = TRY(host.find_link(name));
  if (!parent.has_value()) {
    return Error(Code::kNotFound, str("RoCE interface ", quote(name),
                                      " does not exist on the host; set 'parent' of network.rail "
                                      "to one that 'ip link' shows"));
  }
  return *parent;
}

// Unique in both namespaces, because the MAC is: before Linux 6.15 the name must be free in the
// host's namespace too.
std::string temporary_name(const MacAddress& mac) {
  std::string name = "ipu";
  for (const char c : to_string(mac)) {
    if (c != ':') name += c;
  }
  return name;
}

// The attached link, or what an attach that was cut short left, in the namespace NETNS_ID.
Result<std::optional<Link>> find_attached(Session& host, int32_t netns_id,
                                          const std::string& interface, const MacAddress& mac) {
  for (const std::string& name : {interface, temporary_name(mac)}) {
    std::optional<Link> link = TRY(host.find_link_in(netns_id, name));
    if (link.has_value() && link->mac == mac) return link;
  }
  return std::optional<Link>();
}

Status check_name(Session& target, const AttachPlan& plan) {
  const std::optional<Link> link = TRY(target.find_link(plan.interface));
  if (!link.has_value() || link->mac == plan.mac) return {};
  return Error(Code::kExists, str("interface ", quote(plan.interface),
                                  " exists in the container already, with MAC ",
                                  to_string(link->mac), " instead of ", to_string(plan.mac)));
}

// Removes what an earlier or failed attach of this plan left.
Status remove_own_links(Session& target, const AttachPlan& plan) {
  for (const std::string& name : {plan.interface, temporary_name(plan.mac)}) {
    const std::optional<Link> link = TRY(target.find_link(name));
    if (link.has_value() && link->mac == plan.mac) TRY(target.remove_link(link->index));
  }
  return {};
}

Status undo(Session& target, const AttachPlan& plan, const Namespace& target_namespace) {
  // A link that cannot be removed keeps its filter.
  TRY(remove_own_links(target, plan));
  const Status routes = target.remove_prohibited(plan.prohibited);
  TRY(remove_filter(plan.interface, target_namespace));
  return routes;
}

Status bring_up(Session& target, uint32_t index) {
  const auto deadline = Deadline::after(kMacInUse);
  Status status = target.set_up(index);
  while (!status.ok() && status.error().sys_errno() == EADDRINUSE && !deadline.passed()) {
    base::sleep_for(kRetry, deadline);
    status = target.set_up(index);
  }
  return status;
}

std::vector<Ipv4> addresses_of(const std::vector<Peer>& peers) {
  std::vector<Ipv4> addresses;
  for (const Peer& peer : peers) addresses.push_back(peer.address);
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

Result<Link> make_link(const AttachPlan& plan, uint32_t parent, Sessions& sessions,
                       const Namespace& target) {
  const Macvlan macvlan{parent, temporary_name(plan.mac), plan.mac};
  TRY(sessions.host.create_macvlan(macvlan, target));
  const std::optional<Link> link = TRY(sessions.target.find_link(macvlan.name));
  if (!link.has_value()) {
    return Error(Code::kNotFound, str("macvlan ", quote(macvlan.name), " vanished"));
  }
  TRY(sessions.target.configure(link->index, plan.interface));
  // The address first: the kernel announces it (arp_notify) only when it is there at link-up.
  TRY(sessions.target.add_address(link->index, plan.address));
  TRY(bring_up(sessions.target, link->index));
  TRY(sessions.target.add_host_routes(link->index, plan.address, addresses_of(plan.peers)));
  return *link;
}

// The filter comes first, so that there is no moment at which the link is up without it.
Result<Attachment> make(const AttachPlan& plan, uint32_t parent, Sessions& sessions,
                        const Namespace& target) {
  TRY(install_filter(plan, target));
  TRY(sessions.target.ensure_prohibited(plan.prohibited));
  const Link link = TRY(make_link(plan, parent, sessions, target));
  return Attachment{link.index, link.mtu, target.identity()};
}

}  // namespace

Result<int32_t> ensure_id(const Namespace& host, const Namespace& target) {
  Session session = TRY(Session::open(host));
  return session.ensure_netns_id(target);
}

Result<Attachment> attach(const AttachPlan& plan, const Namespace& host, const Namespace& target) {
  TRY(check(plan, host, target));
  Session host_session = TRY(Session::open(host));
  Session target_session = TRY(Session::open(target));
  Sessions sessions{std::move(host_session), std::move(target_session)};
  const Link parent = TRY(find_parent(sessions.host, plan.parent));
  TRY(check_name(sessions.target, plan));
  TRY(remove_own_links(sessions.target, plan));
  Result<Attachment> attachment = make(plan, parent.index, sessions, target);
  if (attachment.ok()) return attachment;
  const Status undone = undo(sessions.target, plan, target);
  if (undone.ok()) return attachment;
  const Error& cause = attachment.error();
  return Error(cause.code(),
               str(cause.message(), " (and undoing it: ", undone.error().message(), ')'));
}

Result<Removed> detach(const Namespace& host, int32_t netns_id, const std::string& interface,
                       const MacAddress& mac) {
  Session session = TRY(Session::open(host));
  const std::optional<Link> link = TRY(find_attached(session, netns_id, interface, mac));
  if (!link.has_value()) return Removed::kWasAbsent;
  const Removed removed = TRY(session.remove_group_in(netns_id, group_of(mac)));
  const std::optional<Link> after = TRY(find_attached(session, netns_id, interface, mac));
  if (after.has_value()) {
    return Error(Code::kBusy, str("interface ", quote(after->name), " with MAC ", to_string(mac),
                                  " is still there after its removal"));
  }
  return removed;
}

Result<std::vector<Ipv4>> addresses_of(const Namespace& host) {
  Session session = TRY(Session::open(host));
  return session.addresses();
}

Result<uint32_t> mtu_of(const Namespace& host, const std::string& interface) {
  Session session = TRY(Session::open(host));
  const Link link = TRY(find_parent(session, interface));
  return link.mtu;
}

}  // namespace netns
