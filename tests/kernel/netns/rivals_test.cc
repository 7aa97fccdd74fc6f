// SPDX-License-Identifier: Apache-2.0
// What decides about a frame before the border does, and whether find_rival() sees it: each test
// shows first that the frame passes, or that it does not.
#include "netns/rivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/bpf.h"
#include "base/text.h"
#include "netns/border.h"
#include "netns/internal/scope.h"
#include "netns/session.h"
#include "tests/kernel/netns/capture.h"
#include "tests/kernel/netns/frames.h"
#include "tests/kernel/netns/world.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"

namespace netns {
namespace {

using base::Code;
using base::str;
using base::bpf::TcxPlace;
using testing::HasSubstr;

constexpr MacAddress kForeign{{2, 0, 0, 0, 0, 0x42}};
constexpr const char* kAllFrames = "protocol all prio 1 u32 match u32 0 0";

class RivalsTest : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    if (!IsSkipped()) silence_the_wire();
  }
  void build(FilterPlace way, const std::vector<BorderMember>& members = {}) {
    EXPECT_EQ(must(build_border(host(), way, {{"host0", Others::kDrop}}, members)), way);
  }
  base::Result<FilterPlace> try_build() {
    return build_border(host(), FilterPlace::kTc, {{"host0", Others::kDrop}}, {});
  }
  std::string run_tc(const std::string& arguments) const {
    return run_tool(host(), "/sbin/tc", arguments);
  }
  // What find_rival() says of host0, "refused: " first if no border can be made; "" if it sees
  // none.
  std::string rival_of(FilterPlace way) const {
    const std::optional<Rival> rival = must(find_rival(host(), way, "host0"));
    return rival ? str(rival->refuses ? "refused: " : "", rival->says) : "";
  }

  // Has a program on host0 that lets all frames pass (TCX_PASS, 0), until the test ends.
  void pass_all_by_tcx(TcxPlace place) {
    const std::array<bpf_insn, 2> pass{
        base::bpf::instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
        base::bpf::instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)};
    program_ = must(base::bpf::load_program(BPF_PROG_TYPE_SCHED_CLS, "pass_all", pass));
    const uint32_t interface = index_of("host0");
    const internal::Scope inside = must(internal::Scope::enter(host().fd()));
    bpf_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.target_fd = interface;
    attributes.attach_bpf_fd = static_cast<uint32_t>(program_.get());
    attributes.attach_type = static_cast<uint32_t>(place);
    if (syscall(SYS_bpf, BPF_PROG_ATTACH, &attributes, sizeof attributes) == 0) return;
    if (errno == EINVAL) GTEST_SKIP() << "no tcx before Linux 6.6";
    FAIL() << std::strerror(errno);
  }
  uint32_t index_of(const std::string& name) const {
    Session session = must(Session::open(host()));
    return must(session.find_link(name)).value().index;
  }

  static Bytes frame_of(const MacAddress& mac) {
    return ethernet(kBroadcast, mac, ETHERTYPE_IP) + Bytes(50);
  }
  // Whether the fabric sees a frame of a foreign MAC that SENDER sends.
  bool passes(const RawSender& sender) const {
    Capture wire(fabric(), "fab0");
    sender.send(frame_of(kForeign));
    for (const Frame& seen : wire.frames(kQuiet)) {
      if (seen.source_mac == kForeign) return true;
    }
    return false;
  }
  // The same, once the links have their carrier.
  bool passes_soon(const RawSender& sender) const {
    for (int tries = 0; tries < 20; ++tries) {
      if (passes(sender)) return true;
    }
    return false;
  }
  // Whether a frame of a stranger on the fabric arrives in CONTAINER.
  bool arrives(const Namespace& container, const MacAddress& mac) const {
    Capture inside(container, "roce0");
    RawSender(fabric(), "fab0").send(ethernet(mac, kForeign, ETHERTYPE_IP) + Bytes(50));
    return !inside.frames(kQuiet).empty();
  }

  base::Fd program_;
};

TEST_F(RivalsTest, HasNoneByItself) {
  for (const FilterPlace way : {FilterPlace::kTc, FilterPlace::kNftables}) {
    build(way);
    EXPECT_EQ(rival_of(way), "");
    EXPECT_FALSE(must(find_rival(host(), way, "absent")));
  }
}

TEST_F(RivalsTest, ATcxProgramLetsPassWhatTcWouldDropAndNftablesDropsNevertheless) {
  const RawSender sender(host(), "host0");
  EXPECT_TRUE(passes_soon(sender)) << "the world has no border";
  build(FilterPlace::kTc);
  EXPECT_FALSE(passes(sender));
  pass_all_by_tcx(TcxPlace::kEgress);
  if (IsSkipped()) return;
  EXPECT_TRUE(passes(sender));
  EXPECT_THAT(rival_of(FilterPlace::kTc),
              HasSubstr("tcx programs on 'host0' run before the border by tc and can let frames of"
                        " containers pass: 'pass_all' (egress); detach them"));
  build(FilterPlace::kNftables);
  EXPECT_FALSE(passes(sender));
  EXPECT_EQ(rival_of(FilterPlace::kNftables), "");
}

TEST_F(RivalsTest, ATcxProgramLetsArriveWhatTcWouldDropAndNftablesDropsNevertheless) {
  const Namespace container = make_namespace();
  const RailPlan rail = plan().rails[0];
  must(attach(plan(), host(), container));
  const std::vector<BorderMember> members{{"lease", rail.mac, rail.address, rail.peers}};
  EXPECT_TRUE(arrives(container, rail.mac)) << "the world has no border";
  build(FilterPlace::kTc, members);
  EXPECT_FALSE(arrives(container, rail.mac));
  pass_all_by_tcx(TcxPlace::kIngress);
  if (IsSkipped()) return;
  EXPECT_TRUE(arrives(container, rail.mac));
  EXPECT_THAT(rival_of(FilterPlace::kTc), HasSubstr("'pass_all' (ingress)"));
  build(FilterPlace::kNftables, members);
  EXPECT_FALSE(arrives(container, rail.mac));
  EXPECT_EQ(rival_of(FilterPlace::kNftables), "");
}

TEST_F(RivalsTest, AFilterOfTheSamePriorityIsNamed) {
  run_tc("qdisc add dev host0 clsact");
  run_tc(str("filter add dev host0 ingress ", kAllFrames, " action mirred egress mirror dev lo"));
  const std::string says =
      "tc on 'host0': the ingress filter 'u32' of another program has priority 1, and could decide"
      " before the border; give it a priority of 2 or more (see 'tc filter show dev host0 "
      "ingress')";
  EXPECT_EQ(rival_of(FilterPlace::kTc), "refused: " + says);
  EXPECT_TRUE(test::fails(try_build(), Code::kDenied, says));
  EXPECT_EQ(rival_of(FilterPlace::kNftables), "");
}

TEST_F(RivalsTest, AQdiscWithoutEgressIsNamed) {
  run_tc("qdisc add dev host0 ingress");
  const std::string says =
      "tc on 'host0': it has a qdisc 'ingress', which cannot filter what leaves;";
  EXPECT_THAT(rival_of(FilterPlace::kTc), HasSubstr("refused: " + says));
  EXPECT_TRUE(test::fails(try_build(), Code::kDenied, says));
  run_tc("qdisc del dev host0 ingress");
  run_tc("qdisc add dev host0 clsact");
  EXPECT_EQ(rival_of(FilterPlace::kTc), "") << "what the message says to do is enough";
}

// The kernel changes the filters of a block by the number of the block alone.
TEST_F(RivalsTest, ASharedBlockIsNamed) {
  run_tc("qdisc add dev host0 egress_block 5 clsact");
  const std::string says = "tc on 'host0': its clsact shares the filters of a block";
  EXPECT_THAT(rival_of(FilterPlace::kTc), HasSubstr("refused: " + says));
  EXPECT_TRUE(test::fails(try_build(), Code::kDenied, says));
}

TEST_F(RivalsTest, ARedirectPassesNftablesAndNotTc) {
  const Namespace tenant = make_namespace();
  run_ip(host(), "link add tenant0 type veth peer name inside");
  run_ip(host(), str("link set inside netns ", path_of(tenant)));
  run_ip(host(), "link set tenant0 up");
  run_ip(tenant, "link set inside up");
  const RawSender sender(tenant, "inside");
  EXPECT_FALSE(passes(sender));
  run_tc("qdisc add dev tenant0 clsact");
  run_tc(str("filter add dev tenant0 ingress ", kAllFrames,
             " action mirred egress redirect dev host0"));
  EXPECT_TRUE(passes(sender));
  build(FilterPlace::kTc);
  EXPECT_FALSE(passes(sender));
  EXPECT_EQ(rival_of(FilterPlace::kTc), "");
  build(FilterPlace::kNftables);
  EXPECT_TRUE(passes(sender));
  EXPECT_THAT(rival_of(FilterPlace::kNftables),
              HasSubstr("the tc action 'mirred' with index 1 sends frames out of 'host0' past the"
                        " border by nftables; remove the filter that uses it"));
}

}  // namespace
}  // namespace netns
