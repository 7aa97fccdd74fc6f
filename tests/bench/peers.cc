// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/peers.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/bench/attachment.h"
#include "tests/bench/recording.h"
#include "tests/bench/statistics.h"

using namespace base::names;
using netns::Namespace;

namespace {

constexpr uint32_t kAddress = 0x0a056500;  // 10.5.101.0
constexpr uint32_t kNextTo = 0x0a0565ff;
constexpr const char* kName = "bench";  // of the namespace, for programs
constexpr const char* kFile = "/run/netns/bench";
constexpr const char* kPlugins = "/usr/lib/cni/";

using Attach = std::function<Status(const Namespace& target)>;

struct Peer {
  const char* text;
  Attach make;
  Attach unmake;                   // so that the next round finds the MAC free
  std::vector<double> times = {};  // milliseconds
};

// As an administrator's script does it: one program here, one inside.
Status by_ip(const netns::RailPlan& rail) {
  TRY(run_program("/sbin/ip",
                  {"link", "add", "link", rail.parent, "name", rail.interface, "netns", kName,
                   "address", netns::to_string(rail.mac), "type", "macvlan", "mode", "private"}));
  std::string batch = str("address add ", netns::to_string(rail.address), "/32 dev ",
                          rail.interface, "\nlink set ", rail.interface, " up\n");
  for (const netns::Peer& peer : rail.peers)
    batch += str("route add ", netns::to_string(peer.address), "/32 dev ", rail.interface, "\n");
  return run_program("/sbin/ip", {"-n", kName, "-batch", "-"}, {}, batch);
}

Status by_cni(const netns::RailPlan& rail, const char* verb) {
  const std::string config =
      str(R"({"cniVersion":"0.4.0","name":"bench","type":"macvlan","master":")", rail.parent,
          R"(","mode":"private","ipam":{"type":"host-local","dataDir":"/run/netns/cni","subnet":)",
          R"("10.5.0.0/16","rangeStart":"10.5.101.1","rangeEnd":"10.5.101.250"}})");
  return run_program(str(kPlugins, "macvlan"), {},
                     {str("CNI_COMMAND=", verb), "CNI_CONTAINERID=bench", str("CNI_NETNS=", kFile),
                      str("CNI_IFNAME=", rail.interface), str("CNI_PATH=", kPlugins)},
                     config);
}

// Gives the namespace a name below /run/netns, which is this thread's own by now.
Status time_once(Peer& peer, const base::Fd& home) {
  const Namespace target = TRY(make_namespace(home));
  const std::string source = str("/proc/self/fd/", target.fd());
  if (::mount(source.c_str(), kFile, nullptr, MS_BIND, nullptr) != 0)
    return Error::from_errno(errno, "mount a namespace");
  const auto from = std::chrono::steady_clock::now();
  Status done = peer.make(target);
  peer.times.push_back(
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count());
  if (done.ok()) done = peer.unmake(target);
  if (::umount2(kFile, MNT_DETACH) != 0) return Error::from_errno(errno, "umount a namespace");
  std::this_thread::sleep_for(kRest);
  return done;
}

void print_peers(const std::vector<Peer>& peers) {
  std::printf("one attachment, side by side: median, and the median difference to the first\n");
  for (const Peer& peer : peers) {
    const bench::Interval more = bench::median_difference(peer.times, peers[0].times);
    std::printf("  %-44s %7.3f ms   %+7.3f (%+.3f to %+.3f)\n", peer.text,
                bench::percentile(peer.times, 50), more.median, more.low, more.high);
  }
  (void)std::fflush(stdout);
}

Result<Recording> record_link(const netns::RailPlan& rail, const Namespace& host,
                              const base::Fd& home) {
  const Namespace target = TRY(make_namespace(home));
  Recording recording = TRY(Recording::of(
      Recorded::kChanges, [&] { return make_link(rail, host, target); }, host, target));
  const int32_t id = TRY(netns::ensure_id(host, target));
  TRY(netns::detach(host, id, rail.interface, rail.mac));
  return recording;
}

// A place for names of namespaces that no other process sees.
Status hide_names() {
  TRY(base::ensure_dir("/run/netns", 0755));
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", "/run/netns", "tmpfs", 0, nullptr) != 0)
    return Error::from_errno(errno, "mount /run/netns");
  return base::write_atomic(kFile, "", {0600, {}, {}});
}

}  // namespace

Status measure_peers(const Namespace& host, const base::Fd& home) {
  TRY(hide_names());
  const netns::RailPlan rail = rail_of(kAddress);
  Recording recording = TRY(record_link(rail, host, home));
  // The first filter of a host costs more: the kernel patches its code at each hook.
  const Namespace neighbour = TRY(make_namespace(home));
  TRY(attach(rail_of(kNextTo), host, neighbour));
  const Attach remove = [&](const Namespace& target) -> Status {
    const int32_t id = TRY(netns::ensure_id(host, target));
    TRY(netns::detach(host, id, rail.interface, rail.mac));
    return {};
  };
  std::vector<Peer> peers{
      {"netlink: the bytes of the link alone",
       [&](const Namespace& target) { return recording.replay(host, target); }, remove},
      {"ours: the link alone",
       [&](const Namespace& target) { return make_link(rail, host, target); }, remove},
      {"ours: link and the container's filter",
       [&](const Namespace& target) { return attach(rail, host, target); }, remove},
      {"ip link add, ip -batch: the link alone", [&](const Namespace&) { return by_ip(rail); },
       [&](const Namespace&) {
         return run_program("/sbin/ip", {"-n", kName, "link", "delete", rail.interface});
       }}};
  const bool has_cni = ::access(str(kPlugins, "macvlan").c_str(), X_OK) == 0 &&
                       ::access(str(kPlugins, "host-local").c_str(), X_OK) == 0;
  if (has_cni) {
    peers.push_back({"CNI macvlan and host-local: the link alone",
                     [&](const Namespace&) { return by_cni(rail, "ADD"); },
                     [&](const Namespace&) { return by_cni(rail, "DEL"); }});
  } else {
    std::printf("CNI's plugins are not installed (package containernetworking-plugins)\n");
  }
  for (size_t round = 0; round < kRounds; ++round)
    for (Peer& peer : peers) TRY(time_once(peer, home));
  print_peers(peers);
  return {};
}
