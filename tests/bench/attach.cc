// SPDX-License-Identifier: Apache-2.0
// What an attachment costs: the link alone, with the filter of the container, and with the border
// as well. The border then has the interfaces of other leases. Medians, in a namespace of its own.
#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/border.h"
#include "netns/session.h"

namespace {

using namespace base::names;
using netns::Namespace;

constexpr size_t kRounds = 61;
constexpr uint32_t kOwn = 0x0a056400;    // 10.5.100.0
constexpr uint32_t kOther = 0x0a060000;  // 10.6.0.0
const std::vector<netns::BorderParent> kParents{{"rail0", netns::Others::kDrop}};

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

netns::BorderMember member_of(const netns::RailPlan& rail) {
  return {"bench", rail.mac, rail.address, rail.peers};
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
  TRY(netns::attach({{rail}, {}, {}}, host, target));
  return {};
}

Status attach_behind_border(const netns::RailPlan& rail, const Namespace& host,
                            const Namespace& target) {
  if (!TRY(netns::border_stands(host, kParents))) return Error(Code::kInternal, "no border");
  TRY(netns::admit(host, {member_of(rail)}));
  return attach(rail, host, target);
}

struct Variant {
  const char* text;
  std::function<Status(const netns::RailPlan&, const Namespace&, const Namespace&)> make;
  std::vector<double> made = {};  // microseconds
  std::vector<double> closed = {};
};

using Clock = std::chrono::steady_clock;
double micros_since(Clock::time_point from) {
  return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
}
double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

Status measure_once(Variant& variant, uint32_t address, const Namespace& host,
                    const base::Fd& home) {
  const netns::RailPlan rail = rail_of(address);
  const Namespace target = TRY(make_namespace(home));
  const auto from = Clock::now();
  TRY(variant.make(rail, host, target));
  variant.made.push_back(micros_since(from));
  const int32_t id = TRY(netns::ensure_id(host, target));
  TRY(netns::detach(host, id, rail.interface, rail.mac));
  const auto detached = Clock::now();
  TRY(netns::retain(host, {rail.mac}, {}));
  variant.closed.push_back(micros_since(detached));
  return {};
}

Status measure(uint32_t leases, const Namespace& host, const base::Fd& home) {
  std::vector<netns::BorderMember> others;
  for (uint32_t n = 0; n < leases; ++n) others.push_back(member_of(rail_of(kOther + n)));
  TRY(netns::build_border(host, kParents, others));
  Variant variants[] = {{"the link alone", make_link},
                        {"with the container's filter", attach},
                        {"with the border as well", attach_behind_border}};
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (Variant& variant : variants) TRY(measure_once(variant, kOwn + round, host, home));
  }
  const double floor = median(variants[0].made);
  (void)std::printf("an attachment beside %u leases\n", leases);
  for (Variant& variant : variants) {
    const double made = median(variant.made);
    (void)std::printf("  %-28s %8.3f ms   x %.2f", variant.text, made / 1000, made / floor);
    if (&variant == &variants[2]) {
      (void)std::printf("   closed again in %.3f ms", median(variant.closed) / 1000);
    }
    (void)std::printf("\n");
  }
  return {};
}

Status run_ip(std::vector<std::string> args) {
  args.insert(args.begin(), "ip");
  base::Command command;
  command.path = "/sbin/ip";
  command.args = args;
  const base::Output done =
      TRY(base::run(command, base::Deadline::after(std::chrono::seconds(10))));
  if (done.exit_status == 0) return {};
  return Error(Code::kInternal, base::join(args, " ") + " failed");
}

Status measure_all() {
  if (::unshare(CLONE_NEWNET) != 0) return Error::from_errno(errno, "unshare");
  TRY(run_ip({"link", "add", "rail0", "type", "veth", "peer", "name", "wire0"}));
  TRY(run_ip({"link", "set", "rail0", "up"}));
  TRY(run_ip({"link", "set", "wire0", "up"}));
  const base::Fd home = TRY(base::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY));
  const Namespace host = TRY(Namespace::current());
  for (const uint32_t leases : {0U, 100U, 1000U}) TRY(measure(leases, host, home));
  return {};
}

}  // namespace

int main() {
  const Status done = measure_all();
  if (done.ok()) return 0;
  (void)std::fprintf(stderr, "attach: %s\n", done.error().message().c_str());
  return 1;
}
