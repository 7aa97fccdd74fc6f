// SPDX-License-Identifier: Apache-2.0
// ARP and neighbour discovery against bytes.
#include "netns/internal/neighbour_packets.h"
#include "tests/unit/netns/addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace netns::internal {
namespace {

using Frame = std::vector<uint8_t>;

const MacAddress kOwn{{0x02, 0, 0, 0, 0, 0x01}};
const MacAddress kOther{{0x02, 0, 0, 0, 0, 0x02}};

const Frame kArpReply{
    2, 0, 0, 0, 0, 1, 2,  0, 0, 0, 0, 2, 0x08, 0x06,  // to us, from the other host, ARP
    0, 1, 8, 0, 6, 4, 0,  2,                          // IPv4 over Ethernet, a reply
    2, 0, 0, 0, 0, 2, 10, 5, 0, 7,                    // who it is
    2, 0, 0, 0, 0, 1, 0,  0, 0, 0,
};
const Frame kAdvertisement{
    0x33, 0x33, 0, 0, 0,    1,  2,  0,    0, 0, 0, 2, 0x86, 0xdd,        // to all nodes
    0x60, 0,    0, 0, 0,    32, 58, 255,                                 // 32 bytes of ICMPv6
    0xfd, 0,    0, 5, 0,    0,  0,  0,    0, 0, 0, 0, 0,    0,    0, 7,  // from
    0xff, 0x02, 0, 0, 0,    0,  0,  0,    0, 0, 0, 0, 0,    0,    0, 1,  // to
    136,  0,    0, 0, 0x20, 0,  0,  0,                                   // an advertisement
    0xfd, 0,    0, 5, 0,    0,  0,  0,    0, 0, 0, 0, 0,    0,    0, 7,  // of this address
    2,    1,    2, 0, 0,    0,  0,  0x0a,                                // which has this MAC
};

Frame with(Frame frame, size_t at, std::initializer_list<uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), frame.begin() + static_cast<ptrdiff_t>(at));
  return frame;
}

TEST(ProbeFrame, IsAnArpProbeForIpv4) {
  EXPECT_EQ(probe_frame(kOwn, ip("10.5.0.7")),
            (Frame{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0, 0, 0, 1, 0x08, 0x06,  //
                   0,    1,    8,    0,    6,    4,    0,  1,                          //
                   2,    0,    0,    0,    0,    1,    0,  0, 0, 0,                    //
                   0,    0,    0,    0,    0,    0,    10, 5, 0, 7}));
}

TEST(ProbeFrame, IsASolicitationFromNobodyForIpv6) {
  const Frame frame = probe_frame(kOwn, ip("fd00:5::a1:b2c3"));
  EXPECT_EQ(frame, (Frame{0x33, 0x33, 0xff,      0xa1,      0xb2, 0xc3, 2,    0,
                          0,    0,    0,         1,         0x86, 0xdd,             //
                          0x60, 0,    0,         0,         0,    24,   58,   255,  //
                          0,    0,    0,         0,         0,    0,    0,    0,
                          0,    0,    0,         0,         0,    0,    0,    0,  //
                          0xff, 0x02, 0,         0,         0,    0,    0,    0,
                          0,    0,    0,         1,         0xff, 0xa1, 0xb2, 0xc3,  //
                          135,  0,    frame[56], frame[57], 0,    0,    0,    0,     //
                          0xfd, 0,    0,         5,         0,    0,    0,    0,
                          0,    0,    0,         0,         0,    0xa1, 0xb2, 0xc3}));
  // The sum of the pseudo header and the message, with its checksum, is all ones (RFC 1071).
  uint32_t sum = 24 + 58;
  for (size_t i = 22; i < frame.size(); i += 2) sum += uint32_t{frame[i]} << 8 | frame[i + 1];
  EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffU);
}

TEST(FindClaimant, KnowsWhoAnswersAnArpProbe) {
  EXPECT_EQ(find_claimant(kArpReply, ip("10.5.0.7"), kOwn), kOther);
  EXPECT_EQ(find_claimant(kArpReply, ip("10.5.0.8"), kOwn), std::nullopt);
  EXPECT_EQ(find_claimant(kArpReply, ip("10.5.0.7"), kOther), std::nullopt) << "our own";
  const Frame announcement = with(kArpReply, 21, {1});
  EXPECT_EQ(find_claimant(announcement, ip("10.5.0.7"), kOwn), kOther);
}

TEST(FindClaimant, KnowsAHostThatProbesForTheSameIpv4Address) {
  const Frame probe = probe_frame(kOther, ip("10.5.0.7"));
  EXPECT_EQ(find_claimant(probe, ip("10.5.0.7"), kOwn), kOther);
  EXPECT_EQ(find_claimant(probe, ip("10.5.0.7"), kOther), std::nullopt);
  EXPECT_EQ(find_claimant(probe, ip("10.5.0.8"), kOwn), std::nullopt);
  const Frame question = with(probe, 28, {10, 5, 0, 9});  // from a host with an address
  EXPECT_EQ(find_claimant(question, ip("10.5.0.7"), kOwn), std::nullopt);
}

TEST(FindClaimant, KnowsWhoAdvertisesAnIpv6Address) {
  const MacAddress named{{2, 0, 0, 0, 0, 0x0a}};
  EXPECT_EQ(find_claimant(kAdvertisement, ip("fd00:5::7"), kOwn), named);
  EXPECT_EQ(find_claimant(kAdvertisement, ip("fd00:5::8"), kOwn), std::nullopt);
  EXPECT_EQ(find_claimant(kAdvertisement, ip("fd00:5::7"), named), std::nullopt);
  const Frame unnamed(kAdvertisement.begin(), kAdvertisement.end() - 8);
  EXPECT_EQ(find_claimant(unnamed, ip("fd00:5::7"), kOwn), kOther);
}

TEST(FindClaimant, KnowsAHostThatProbesForTheSameIpv6Address) {
  const Frame probe = probe_frame(kOther, ip("fd00:5::7"));
  EXPECT_EQ(find_claimant(probe, ip("fd00:5::7"), kOwn), kOther);
  EXPECT_EQ(find_claimant(probe, ip("fd00:5::7"), kOther), std::nullopt);
  EXPECT_EQ(find_claimant(with(probe, 22, {0xfe, 0x80}), ip("fd00:5::7"), kOwn), std::nullopt)
      << "a host that wants to reach it";
}

TEST(FindClaimant, PassesOverEverythingElse) {
  const auto ignores = [](const Frame& frame, const char* address) {
    return !find_claimant(frame, ip(address), kOwn).has_value();
  };
  EXPECT_TRUE(ignores(with(kArpReply, 12, {0x08, 0x00}), "10.5.0.7"));  // not ARP
  EXPECT_TRUE(ignores(with(kArpReply, 14, {0, 6}), "10.5.0.7"));        // not Ethernet
  EXPECT_TRUE(ignores(with(kAdvertisement, 12, {8, 0}), "fd00:5::7"));  // not IPv6
  EXPECT_TRUE(ignores(with(kAdvertisement, 20, {17}), "fd00:5::7"));    // not ICMPv6
  EXPECT_TRUE(ignores(with(kAdvertisement, 21, {254}), "fd00:5::7"));   // from afar
  EXPECT_TRUE(ignores(with(kAdvertisement, 54, {134}), "fd00:5::7"));   // something else
}

TEST(FindClaimant, PassesOverWhatIsCutShort) {
  for (size_t size = 0; size < kArpReply.size(); ++size) {
    const Frame frame(kArpReply.begin(), kArpReply.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_EQ(find_claimant(frame, ip("10.5.0.7"), kOwn), std::nullopt) << size;
    EXPECT_EQ(find_claimant(frame, ip("fd00:5::7"), kOwn), std::nullopt) << size;
  }
  const auto whole = static_cast<ptrdiff_t>(kAdvertisement.size());
  for (ptrdiff_t size = 0; size < whole - 8; ++size) {
    const Frame frame(kAdvertisement.begin(), kAdvertisement.begin() + size);
    EXPECT_EQ(find_claimant(frame, ip("fd00:5::7"), kOwn), std::nullopt) << size;
  }
  for (ptrdiff_t size = whole - 8; size < whole; ++size) {  // without its option
    const Frame frame(kAdvertisement.begin(), kAdvertisement.begin() + size);
    EXPECT_EQ(find_claimant(frame, ip("fd00:5::7"), kOwn), kOther) << size;
  }
  const Frame endless = with(kAdvertisement, 78, {1, 0});
  EXPECT_EQ(find_claimant(endless, ip("fd00:5::7"), kOwn), kOther);
}

TEST(GroupsOf, AreThoseThatIpv6NeighboursSpeakTo) {
  EXPECT_TRUE(groups_of(ip("10.5.0.7")).empty());
  EXPECT_THAT(groups_of(ip("fd00:5::a1:b2c3")),
              testing::ElementsAre(MacAddress{{0x33, 0x33, 0, 0, 0, 1}},
                                   MacAddress{{0x33, 0x33, 0xff, 0xa1, 0xb2, 0xc3}}));
}

}  // namespace
}  // namespace netns::internal
