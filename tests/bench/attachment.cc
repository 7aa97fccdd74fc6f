// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/attachment.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "netns/session.h"

using namespace base::names;
using netns::Namespace;

namespace {

// What a container is kept from on a host with docker's bridge and two more networks.
Result<netns::NetworkPlan> plan_of(const netns::RailPlan& rail) {
  netns::NetworkPlan plan{{rail}, {}, {}, {}};
  const auto read =
      [](std::initializer_list<const char*> texts) -> Result<std::vector<netns::Prefix>> {
    std::vector<netns::Prefix> prefixes;
    for (const char* text : texts) prefixes.push_back(TRY(netns::parse_prefix(text)));
    return prefixes;
  };
  plan.prohibited = TRY(read({"10.5.0.0/16", "10.1.3.101/32"}));
  plan.guarded = TRY(read({"10.1.3.7/32", "10.5.0.7/32", "172.17.0.1/32", "fd00:1::7/128"}));
  plan.broadcasts = TRY(
      read({"10.1.3.0/32", "10.1.3.255/32", "10.5.0.0/32", "10.5.255.255/32", "172.17.0.0/32",
            "172.17.255.255/32", "224.0.0.0/4", "255.255.255.255/32", "fd00:1::/128", "ff00::/8"}));
  return plan;
}

}  // namespace

netns::RailPlan rail_of(uint32_t address) {
  netns::RailPlan rail;
  rail.parent = "rail0";
  rail.interface = "roce0";
  rail.address = netns::ipv4(address);
  rail.mac.bytes = {0x02, 0x49};
  std::copy_n(rail.address.raw().begin(), 4, rail.mac.bytes.begin() + 2);
  for (uint32_t i = 0; i < 4; ++i) {
    rail.peers.push_back({netns::ipv4(0x0a050100 + i), static_cast<uint16_t>(4000 + i)});
  }
  return rail;
}

Result<Namespace> make_namespace(const base::Fd& home) {
  if (::unshare(CLONE_NEWNET) != 0) return Error::from_errno(errno, "unshare");
  Result<Namespace> made = Namespace::current();
  if (::setns(home.get(), CLONE_NEWNET) != 0) return Error::from_errno(errno, "setns");
  return made;
}

// What no implementation can do without: the link, its address, its routes.
Status make_link(const netns::RailPlan& rail, const Namespace& host, const Namespace& target) {
  netns::Session here = TRY(netns::Session::open(host));
  const std::optional<netns::Link> parent = TRY(here.find_link(rail.parent));
  TRY(here.create_macvlan({parent->index, rail.interface, rail.mac}, target));
  netns::Session there = TRY(netns::Session::open(target));
  const std::optional<netns::Link> link = TRY(there.find_link(rail.interface));
  netns::Interface interface {
    rail.interface, rail.address, {}
  };
  for (const netns::Peer& peer : rail.peers) interface.peers.push_back(peer.address);
  return there.bring_up(*link, interface);
}

Status attach(const netns::RailPlan& rail, const Namespace& host, const Namespace& target) {
  const netns::NetworkPlan plan = TRY(plan_of(rail));
  TRY(netns::attach(plan, host, target));
  return {};
}

Status run_program(const std::string& path, std::vector<std::string> args,
                   std::vector<std::string> env, const std::string& input) {
  args.insert(args.begin(), path);
  base::Command command;
  command.path = path;
  command.args = args;
  command.env = std::move(env);
  command.input = input;
  command.max_output = 1 << 16;
  const base::Output done =
      TRY(base::run(command, base::Deadline::after(std::chrono::seconds(10))));
  if (done.exit_status == 0) return {};
  return Error(Code::kInternal, str(base::join(args, " "), " failed: ", done.out));
}
