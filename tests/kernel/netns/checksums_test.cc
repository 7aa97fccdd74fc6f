// SPDX-License-Identifier: Apache-2.0
// What a checksum that the kernel writes does behind the border.
#include "netns/checksums.h"

#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>

#include "netns/border.h"
#include "netns/filter.h"
#include "netns/internal/scope.h"
#include "netns/session.h"
#include "tests/kernel/netns/capture.h"
#include "tests/kernel/netns/frames.h"
#include "tests/kernel/netns/world.h"
#include "tests/support/requires.h"

namespace netns {
namespace {

class ChecksumsTest : public World, public ::testing::WithParamInterface<FilterPlace> {
 protected:
  void turn_off_checksums() const {
    const base::Fd socket = must(internal::open_socket(host().fd(), AF_INET, SOCK_DGRAM, 0));
    ethtool_value off{ETHTOOL_STXCSUM, 0};
    ifreq request{};
    std::strcpy(request.ifr_name, "host0");
    request.ifr_data = reinterpret_cast<char*>(&off);
    ASSERT_EQ(ioctl(socket.get(), SIOCETHTOOL, &request), 0);
  }
  // The destinations of the frames of container 1 that the fabric sees, after it has sent FRAME
  // with a checksum over the rest of the frame from byte 20 on, to be written over the end of the
  // destination address.
  std::vector<Address> seen_of(const Namespace& container, const Bytes& frame) const {
    const base::Fd socket = must(internal::open_socket(container.fd(), AF_PACKET, SOCK_RAW, 0));
    const int on = 1;
    EXPECT_EQ(setsockopt(socket.get(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on), 0);
    Session session = must(Session::open(container));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(must(session.find_link("roce0")).value().index);
    // A virtio_net_hdr: VIRTIO_NET_HDR_F_NEEDS_CSUM, csum_start 20, csum_offset 12. The kernel's
    // header is no C++.
    const Bytes all = Bytes{1, 0, 0, 0, 0, 0, 20, 0, 12, 0} + frame;
    Capture wire(fabric(), "fab0");
    EXPECT_GT(sendto(socket.get(), all.data(), all.size(), 0,
                     reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    std::vector<Address> destinations;
    for (const Frame& seen : wire.frames(kQuiet)) {
      if (seen.source_mac == plan().rails[0].mac) destinations.push_back(seen.destination);
    }
    return destinations;
  }
};

TEST_P(ChecksumsTest, AreWrittenBehindTheBorderUnlessTheDeviceWritesThem) {
  silence_the_wire();
  const RailPlan rail = plan().rails[0];
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  must(remove_filter(container));
  must(build_border(host(), GetParam(), {{"host0", Others::kDrop}},
                    {{"lease", rail.mac, rail.address, rail.peers}}));
  Session session = must(Session::open(fabric()));
  const MacAddress to = must(session.find_link("fab0")).value().mac;
  const Bytes syn = ethernet(to, rail.mac, ETHERTYPE_IP) +
                    ipv4_header(rail.address, own_, IPPROTO_TCP) + tcp_syn(40000, peer_.port);
  EXPECT_EQ(must(leaves_checksums_to_device(host(), "host0")), true);
  EXPECT_EQ(seen_of(container, syn), std::vector{own_});
  turn_off_checksums();
  EXPECT_EQ(must(leaves_checksums_to_device(host(), "host0")), false);
  const std::vector<Address> changed = seen_of(container, syn);
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_NE(changed[0], own_) << "the gap that SECURITY.md names";
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0) << "nothing else changes";
  EXPECT_EQ(must(leaves_checksums_to_device(host(), "absent")), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Ways, ChecksumsTest,
                         ::testing::Values(FilterPlace::kNftables, FilterPlace::kTc),
                         [](const auto& way) {
                           return way.param == FilterPlace::kTc ? "Tc" : "Nftables";
                         });

}  // namespace
}  // namespace netns
