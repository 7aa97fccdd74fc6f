// SPDX-License-Identifier: Apache-2.0
#include "netns/attach.h"

#include <net/if.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "netns/filter.h"
#include "netns/internal/rail.h"

namespace netns {

using namespace base::names;
using internal::Ends;

namespace {

// The kernel reads '%' as a pattern, and the filter would name another interface. It refuses the
// others, with an errno that says nothing.
bool is_interface_name(const std::string& name) {
  const size_t length = name.size();
  if (length == 0 || length >= IFNAMSIZ || name == "." || name == "..") return false;
  return name.find_first_of("%/: \t\n\v\f\r") == std::string::npos;
}

Status check(const RailPlan& rail) {
  if (!is_interface_name(rail.interface)) {
    return Error(Code::kInvalid,
                 str("interface name ", quote(rail.interface), " must have 1 to ", IFNAMSIZ - 1,
                     " characters, none of them '%', '/', ':' or a space"));
  }
  for (const Peer& peer : rail.peers) {
    if (peer.address.family == rail.address.family) continue;
    return Error(Code::kInvalid,
                 str("interface ", quote(rail.interface), " with address ", to_string(rail.address),
                     " cannot reach ", to_string(peer.address)));
  }
  return {};
}

Status check(const NetworkPlan& plan, const Namespace& host, const Namespace& target) {
  if (host.identity() == target.identity()) {
    return Error(Code::kInvalid, "the container has the host's network namespace");
  }
  std::set<std::string> names;
  std::set<MacAddress> macs;
  for (const RailPlan& rail : plan.rails) {
    TRY(check(rail));
    if (!names.insert(rail.interface).second || !macs.insert(rail.mac).second) {
      return Error(Code::kInvalid, str("two interfaces of the container have the name ",
                                       quote(rail.interface), " or MAC ", to_string(rail.mac)));
    }
  }
  return {};
}

// A plan on its way into the target, and what to undo if it fails.
class Attaching {
 public:
  Attaching(const NetworkPlan& plan, Ends& ends) : plan_(plan), ends_(ends) {}

  // Inspects the target without changes.
  Status look();
  // Makes the changes. The filter comes first, so that no link is ever up without it, or has a
  // route that it does not know. Removals come before additions, because a peer may have moved from
  // one interface to another.
  Status make();
  Status undo();
  [[nodiscard]] const std::vector<Attachment>& attachments() const { return attachments_; }

 private:
  struct Rail {
    const RailPlan& plan;
    internal::Found before;            // before this call
    std::vector<Address> new_peers{};  // of an interface that was ready
    bool is_begun = false;
  };
  Result<Link> make_rail(const Rail& rail);
  Status update_routes();
  Status take_over(Rail& rail, const std::vector<Route>& routes);
  Status remove_rail(const Rail& rail);
  [[nodiscard]] bool was_attached() const;

  const NetworkPlan& plan_;
  Ends& ends_;
  std::vector<Rail> rails_;
  std::vector<Attachment> attachments_;
};

Status Attaching::look() {
  const std::vector<Link> links = TRY(ends_.target.links());
  for (const RailPlan& plan : plan_.rails) {
    internal::Found found = TRY(internal::find_rail(links, plan));
    rails_.push_back(Rail{plan, std::move(found)});
  }
  return {};
}

Status Attaching::make() {
  TRY(install_filter(plan_, ends_.target_filter));
  TRY(ends_.target.ensure_prohibited(plan_.prohibited));
  TRY(update_routes());
  for (Rail& rail : rails_) {
    rail.is_begun = true;
    const Link link = TRY(make_rail(rail));
    attachments_.push_back(Attachment{link.index, link.mtu});
  }
  return {};
}

Result<Link> Attaching::make_rail(const Rail& rail) {
  const std::optional<Link>& ready = rail.before.ready;
  if (ready) return internal::refresh_rail(rail.plan, *ready, rail.new_peers, ends_);
  if (rail.before.is_begun) TRY(internal::unmake_rail(rail.plan, ends_));
  return internal::make_rail(rail.plan, ends_);
}

// Removes the routes of earlier plans that are absent from this one.
Status Attaching::update_routes() {
  const std::vector<Route> routes = TRY(ends_.target.routes());
  const auto& now = plan_.prohibited;
  std::vector<Route> no_longer_prohibited;
  for (const Route& route : routes) {
    const bool is_in_plan = std::find(now.begin(), now.end(), route.to) != now.end();
    if (is_prohibition(route) && !(is_in_plan && route.table == kProhibitTable)) {
      no_longer_prohibited.push_back(route);
    }
  }
  TRY(ends_.target.remove_prohibited(no_longer_prohibited));
  for (Rail& rail : rails_) {
    if (rail.before.ready) TRY(take_over(rail, routes));
  }
  return {};
}

Status Attaching::take_over(Rail& rail, const std::vector<Route>& routes) {
  std::set<Address> missing;
  for (const Address& peer : internal::peer_addresses(rail.plan)) missing.insert(peer);
  std::vector<Address> gone;
  for (const Route& route : routes) {
    if (route.link != rail.before.ready->index || !route.is_static) continue;
    const bool is_host = route.to == host_prefix(route.to.address);
    if (is_host && missing.erase(route.to.address) == 0) gone.push_back(route.to.address);
  }
  rail.new_peers.assign(missing.begin(), missing.end());
  TRY(ends_.target.remove_host_routes(rail.before.ready->index, gone));
  // RDMA needs only the MAC; the filter prevents only a new query for it.
  for (const Address& address : gone) {
    TRY(ends_.target.remove_neighbour(rail.before.ready->index, address));
  }
  return {};
}

Status Attaching::remove_rail(const Rail& rail) {
  if (!rail.is_begun) return {};
  if (!rail.before.ready) return internal::unmake_rail(rail.plan, ends_);
  return ends_.target.remove_host_routes(rail.before.ready->index, rail.new_peers);
}

bool Attaching::was_attached() const {
  return std::any_of(rails_.begin(), rails_.end(),
                     [](const Rail& rail) { return rail.before.ready.has_value(); });
}

// Undoes the changes. An interface that existed before keeps the new plan's filter: the old filter
// is unknown, and no filter would be wider than either. An interface that cannot be removed keeps
// it too.
Status Attaching::undo() {
  Status first_failure;
  const auto note = [&](Status status) {
    if (first_failure.ok()) first_failure = std::move(status);
  };
  for (auto rail = rails_.rbegin(); rail != rails_.rend(); ++rail) note(remove_rail(*rail));
  if (!first_failure.ok() || was_attached()) return first_failure;
  note(ends_.target.remove_all_prohibited());
  const Result<base::Removed> removed = remove_filter(ends_.target_namespace);
  if (!removed.ok()) note(removed.error());
  return first_failure;
}

}  // namespace

Result<std::vector<Attachment>> attach(const NetworkPlan& plan, const Namespace& host,
                                       const Namespace& target) {
  TRY(check(plan, host, target));
  Ends ends = TRY(Ends::open(host, target));
  Attaching attaching(plan, ends);
  TRY(attaching.look());
  const Status made = attaching.make();
  if (made.ok()) return attaching.attachments();
  const Status undone = attaching.undo();
  if (undone.ok()) return made.error();
  return Error(made.error().code(),
               str(made.error().message(),
                   " (undoing the change also failed: ", undone.error().message(), ')'));
}

}  // namespace netns
