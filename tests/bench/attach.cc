// SPDX-License-Identifier: Apache-2.0
// What an attachment costs: the link alone, with the filter of the container, and with the border
// as well. Beside each stand two floors: the bytes of its changes, and those of all its requests,
// sent by the least that can send them; with tc, as many new keys in a map of eBPF too. The border
// has the interfaces of other leases. If there are others, one other container is attached: the
// first filter of a host has the kernel patch its code at each hook. Medians, in a namespace of its
// own.
#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/bpf.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/border.h"
#include "tests/bench/attachment.h"
#include "tests/bench/peers.h"
#include "tests/bench/recording.h"

namespace {

using namespace base::names;
using netns::Namespace;

constexpr uint32_t kOwn = 0x0a056400;  // 10.5.100.0
constexpr uint32_t kNeighbour = 0x0a0563ff;
constexpr uint32_t kOther = 0x0a060000;  // 10.6.0.0
const std::vector<netns::BorderParent> kParents{{"rail0", netns::Others::kDrop}};

netns::BorderMember member_of(const netns::RailPlan& rail) {
  return {"bench", rail.mac, rail.address, rail.peers};
}

Status attach_behind_border(netns::FilterPlace way, const netns::RailPlan& rail,
                            const Namespace& host, const Namespace& target) {
  if (!TRY(netns::admit_if_stands(host, way, kParents, {member_of(rail)}))) {
    return Error(Code::kInternal, "no border");
  }
  return attach(rail, host, target);
}

using Make =
    std::function<Status(const netns::RailPlan&, const Namespace& host, const Namespace& target)>;

struct Variant {
  const char* text;
  netns::RailPlan rail;
  Make make;
  std::vector<double> made = {};  // microseconds
  std::vector<double> closed = {};
};

using Clock = std::chrono::steady_clock;
double micros_since(Clock::time_point from) {
  return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
}
double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2] / 1000;
}

Status close_again(Variant& variant, const Namespace& host, const Namespace& target) {
  const int32_t id = TRY(netns::ensure_id(host, target));
  TRY(netns::detach(host, id, variant.rail.interface, variant.rail.mac));
  const auto detached = Clock::now();
  TRY(netns::retain(host, {variant.rail.mac}, {}));
  variant.closed.push_back(micros_since(detached));
  return {};
}

Status measure_in_namespace(Variant& variant, const Namespace& host, const base::Fd& home) {
  const Namespace target = TRY(make_namespace(home));
  const auto from = Clock::now();
  TRY(variant.make(variant.rail, host, target));
  variant.made.push_back(micros_since(from));
  return close_again(variant, host, target);
}

Status measure_once(Variant& variant, const Namespace& host, const base::Fd& home) {
  TRY(measure_in_namespace(variant, host, home));
  std::this_thread::sleep_for(kRest);
  return {};
}

// A map of eBPF that takes as many new keys as the border by tc puts into its maps.
class KeysOfBorder {
 public:
  static Result<KeysOfBorder> make() {
    return KeysOfBorder(TRY(base::bpf::create_map(
        {"ipu_floor", BPF_MAP_TYPE_HASH, kKeyBytes, kValueBytes, 65536, BPF_F_NO_PREALLOC})));
  }
  Status put() {
    for (int i = 0; i < kKeys; ++i) {
      std::array<uint8_t, kKeyBytes> key{};
      std::memcpy(key.data(), &next_, sizeof next_);
      ++next_;
      TRY(base::bpf::put(map_, key, std::array<uint8_t, kValueBytes>{}));
    }
    return {};
  }

 private:
  // Of member_of(): the MAC, the address, the own one, and 4 peers and 4 ports beside itself.
  static constexpr int kKeys = 12;
  static constexpr uint32_t kKeyBytes = 24;
  static constexpr uint32_t kValueBytes = 64;
  explicit KeysOfBorder(base::Fd map) : map_(std::move(map)) {}
  base::Fd map_;
  uint32_t next_ = 0;
};

// Returns a variant that only repeats what VARIANT sends, and puts KEYS, if any.
Result<Variant> floor_of(Variant& variant, Recorded which, const Namespace& host,
                         const base::Fd& home, const std::shared_ptr<KeysOfBorder>& keys) {
  const Namespace target = TRY(make_namespace(home));
  Recording recording = TRY(Recording::of(
      which, [&] { return variant.make(variant.rail, host, target); }, host, target));
  TRY(close_again(variant, host, target));
  variant.closed.clear();
  return Variant{"", variant.rail,
                 [recording, keys](const auto&, const Namespace& here,
                                   const Namespace& there) mutable -> Status {
                   if (keys) TRY(keys->put());
                   return recording.replay(here, there);
                 }};
}

void print(const std::vector<Variant>& variants, const std::vector<Variant>& changes,
           const std::vector<Variant>& requests) {
  const double link = median(variants[0].made);
  for (size_t i = 0; i < variants.size(); ++i) {
    const double made = median(variants[i].made);
    const double least = median(changes[i].made);
    const double all = median(requests[i].made);
    (void)std::printf(
        "  %-28s %7.3f ms   x %.2f of the link   x %.2f of its changes   x %.2f of its requests",
        variants[i].text, made, made / link, made / least, made / all);
    if (i + 1 == variants.size()) {
      (void)std::printf("   closed in %.3f ms", median(variants[i].closed));
    }
    (void)std::printf("\n");
  }
}

Status measure(netns::FilterPlace way, uint32_t leases, const Namespace& host,
               const base::Fd& home) {
  std::vector<netns::BorderMember> others;
  for (uint32_t n = 0; n < leases; ++n) others.push_back(member_of(rail_of(kOther + n)));
  TRY(netns::build_border(host, way, kParents, others));
  const Namespace neighbour = TRY(make_namespace(home));
  if (leases != 0) TRY(attach(rail_of(kNeighbour), host, neighbour));
  std::vector<Variant> variants{
      {"the link alone", rail_of(kOwn), make_link},
      {"with the container's filter", rail_of(kOwn + 1), attach},
      {"with the border as well", rail_of(kOwn + 2), std::bind_front(attach_behind_border, way)}};
  std::vector<Variant> changes;
  std::vector<Variant> requests;
  const bool is_tc = way == netns::FilterPlace::kTc;
  for (Variant& variant : variants) {
    std::shared_ptr<KeysOfBorder> keys;
    if (is_tc && &variant == &variants.back())
      keys = std::make_shared<KeysOfBorder>(TRY(KeysOfBorder::make()));
    changes.push_back(TRY(floor_of(variant, Recorded::kChanges, host, home, keys)));
    requests.push_back(TRY(floor_of(variant, Recorded::kAll, host, home, keys)));
  }
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < variants.size(); ++i) {
      TRY(measure_once(variants[i], host, home));
      TRY(measure_once(changes[i], host, home));
      TRY(measure_once(requests[i], host, home));
    }
  }
  (void)std::printf("an attachment beside %u leases, border by %s\n", leases,
                    is_tc ? "tc" : "nftables");
  print(variants, changes, requests);
  (void)std::fflush(stdout);
  return {};
}

Status measure_all() {
  if (::unshare(CLONE_NEWNET) != 0) return Error::from_errno(errno, "unshare");
  TRY(run_program("/sbin/ip", {"link", "add", "rail0", "type", "veth", "peer", "name", "wire0"}));
  TRY(run_program("/sbin/ip", {"link", "set", "rail0", "up"}));
  TRY(run_program("/sbin/ip", {"link", "set", "wire0", "up"}));
  const base::Fd home = TRY(base::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY));
  const Namespace host = TRY(Namespace::current());
  TRY(measure_peers(host, home));
  for (const netns::FilterPlace way : {netns::FilterPlace::kNftables, netns::FilterPlace::kTc}) {
    for (const uint32_t leases : {0U, 1U, 1000U}) TRY(measure(way, leases, host, home));
  }
  return {};
}

}  // namespace

int main() {
  const Status done = measure_all();
  if (done.ok()) return 0;
  (void)std::fprintf(stderr, "attach: %s\n", done.error().message().c_str());
  return 1;
}
