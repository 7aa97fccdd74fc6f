// SPDX-License-Identifier: Apache-2.0
// The removal of an interface, and what is visible from the host's namespace.
#include "base/names.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/internal/rail.h"
#include "netns/session.h"

namespace netns {

using namespace base::names;
using base::Removed;

namespace {

// Finds the attached link, or the leftover of an interrupted attach, in the namespace NETNS_ID.
Result<std::optional<Link>> find_link_of(Session& host, int32_t netns_id,
                                         const std::string& interface, const MacAddress& mac) {
  for (const std::string& name : {interface, internal::temporary_name(mac)}) {
    std::optional<Link> link = TRY(host.find_link_in(netns_id, name));
    if (link.has_value() && link->mac == mac) return link;
  }
  return std::optional<Link>();
}

}  // namespace

Result<int32_t> ensure_id(const Namespace& host, const Namespace& target) {
  Session session = TRY(Session::open(host));
  return session.ensure_netns_id(target);
}

Result<Removed> detach(const Namespace& host, int32_t netns_id, const std::string& interface,
                       const MacAddress& mac) {
  Session session = TRY(Session::open(host));
  const std::optional<Link> link = TRY(find_link_of(session, netns_id, interface, mac));
  if (!link.has_value()) return Removed::kWasAbsent;
  const Removed removed = TRY(session.remove_group_in(netns_id, group_of(mac)));
  const std::optional<Link> after = TRY(find_link_of(session, netns_id, interface, mac));
  if (after.has_value()) {
    return Error(Code::kBusy, str("interface ", quote(after->name), " with MAC ", to_string(mac),
                                  " is still there after its removal"));
  }
  return removed;
}

Result<Presence> find_attached(const Namespace& host, int32_t netns_id,
                               const std::string& interface, const MacAddress& mac) {
  Session session = TRY(Session::open(host));
  const std::optional<Link> link = TRY(find_link_of(session, netns_id, interface, mac));
  return link.has_value() ? Presence::kThere : Presence::kGone;
}

Result<std::vector<Address>> addresses_of(const Namespace& host) {
  Session session = TRY(Session::open(host));
  return session.addresses();
}

Result<std::vector<Prefix>> broadcasts_of(const Namespace& host) {
  Session session = TRY(Session::open(host));
  std::vector<Prefix> all;
  for (const char* fixed : {"224.0.0.0/4", "255.255.255.255/32", "ff00::/8"}) {
    all.push_back(TRY(parse_prefix(fixed)));
  }
  for (const Address& address : TRY(session.broadcasts())) all.push_back(host_prefix(address));
  return all;
}

}  // namespace netns
