// SPDX-License-Identifier: Apache-2.0
#include "netns/trial.h"

#include <fcntl.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/border.h"
#include "netns/filter.h"
#include "netns/session.h"

namespace netns {

using namespace base::names;
using base::Fd;

namespace {

// Makes a namespace that ends with the handle.
Result<Namespace> make_namespace() {
  const Fd home = TRY(base::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY));
  if (unshare(CLONE_NEWNET) != 0) return Error::from_errno(errno, "make a network namespace");
  Result<Namespace> made = Namespace::current();
  if (setns(home.get(), CLONE_NEWNET) != 0)
    std::abort();  // all else would act on the trial namespace
  return made;
}

// Uses addresses for documentation (RFC 5737).
NetworkPlan example_plan() {
  RailPlan rail;
  rail.interface = "roce0";
  rail.address = ipv4(0xc0000201);
  rail.peers = {{ipv4(0xc0000202), 4791}};
  NetworkPlan plan;
  plan.rails = {rail};
  plan.prohibited = {{ipv4(0xc6336400), 24}};
  plan.guarded = {host_prefix(ipv4(0xcb007101))};
  return plan;
}

}  // namespace

Status try_filter() {
  const Namespace trial = TRY(make_namespace());
  return install_filter(example_plan(), trial);
}

Result<FilterPlace> try_border(FilterPlace place) {
  const Namespace trial = TRY(make_namespace());
  return build_border(trial, place, {{"lo", Others::kDrop}}, {});
}

Status try_macvlan(const Namespace& host, const std::string& parent) {
  const Namespace trial = TRY(make_namespace());
  Session session = TRY(Session::open(host));
  const std::optional<Link> link = TRY(session.find_link(parent));
  if (!link) return Error(Code::kNotFound, str("there is no interface ", base::quote(parent)));
  Macvlan macvlan;
  macvlan.parent = link->index;
  macvlan.name = "ipu-trial";
  macvlan.mac = {{0x02, 0, 0, 0, 0, 1}};  // matters only while a link is up
  return session.create_macvlan(macvlan, trial);
}

}  // namespace netns
