// SPDX-License-Identifier: Apache-2.0
// The return of a function to the host.
#include "base/names.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/internal/rail.h"
#include "netns/rdma.h"

namespace netns {

using namespace base::names;
using base::Removed;

namespace {

Result<Removed> return_rdma_device(const RailPlan& rail, const Namespace& host,
                                   const Namespace& target) {
  if (rail.rdma_device.empty()) return Removed::kWasAbsent;
  const std::optional<RdmaMode> mode = TRY(rdma_mode(host));
  if (mode != RdmaMode::kExclusive) return Removed::kWasAbsent;
  const Status status = move_rdma_device(target, rail.rdma_device, host);
  if (status.ok()) return Removed::kNow;
  if (status.error().code() == Code::kNotFound) return Removed::kWasAbsent;
  return status.error();
}

Result<Removed> return_link(const RailPlan& rail, const Namespace& host, const Namespace& target) {
  Session session = TRY(Session::open(target));
  const std::optional<Link> link = TRY(internal::find_own(session, rail));
  if (!link.has_value()) return Removed::kWasAbsent;
  TRY(session.move_link(link->index, rail.parent, host));
  return Removed::kNow;
}

// Finds the function under its own name, or the only link with its MAC.
Result<Link> find_in_host(Session& host, const RailPlan& rail) {
  std::optional<Link> found;
  for (const Link& link : TRY(host.links())) {
    if (link.mac != rail.mac) continue;
    if (link.name == rail.parent) return link;
    if (found.has_value()) {
      return Error(Code::kExists, str("interfaces ", quote(found->name), " and ", quote(link.name),
                                      " both have MAC ", to_string(rail.mac), ", that of function ",
                                      quote(rail.parent), "; rename the function's interface to ",
                                      quote(rail.parent)));
    }
    found = link;
  }
  if (found.has_value()) return *found;
  return Error(Code::kNotFound, str("function ", quote(rail.parent), " with MAC ",
                                    to_string(rail.mac), " is not back on the host"));
}

}  // namespace

Result<Removed> give_back(const RailPlan& rail, const Namespace& host, const Namespace* target) {
  Removed removed = Removed::kWasAbsent;
  if (target != nullptr) {
    removed = TRY(return_rdma_device(rail, host, *target));
    const Removed link = TRY(return_link(rail, host, *target));
    if (link == Removed::kNow) return link;
  }
  Session session = TRY(Session::open(host));
  const Link link = TRY(find_in_host(session, rail));
  if (link.name == rail.parent) return removed;
  TRY(session.rename_link(link.index, rail.parent));
  return Removed::kNow;
}

}  // namespace netns
