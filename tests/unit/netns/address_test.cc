// SPDX-License-Identifier: Apache-2.0
#include "netns/address.h"
#include "tests/unit/netns/addresses.h"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

namespace netns {
namespace {

Prefix net(const char* text) { return parse_prefix(text).take(); }

TEST(AddressTest, ReadsAndWritesTheSameText) {
  for (const char* text :
       {"0.0.0.0", "10.5.1.7", "127.0.0.1", "255.255.255.255", "::", "::1", "fd00:5::7", "fe80::1",
        "2001:db8:0:1:1:1:1:1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address.ok()) << address.error().message();
    EXPECT_EQ(to_string(address.value()), text);
  }
}

TEST(AddressTest, WritesIpv6AsRfc5952Does) {
  EXPECT_EQ(to_string(ip("FD00:0005:0:0:0:0:0:0007")), "fd00:5::7");
  EXPECT_EQ(to_string(ip("2001:db8:0:0:1:0:0:1")), "2001:db8::1:0:0:1");
}

TEST(AddressTest, IsInNetworkByteOrder) {
  const Address address = ip("10.5.1.7");
  EXPECT_EQ(address, ipv4(0x0a050107));
  EXPECT_EQ(std::vector<uint8_t>(address.raw().begin(), address.raw().end()),
            (std::vector<uint8_t>{10, 5, 1, 7}));
  EXPECT_EQ(ip("fd00:5::7").raw().size(), 16U);
  EXPECT_EQ(ip("fd00:5::7").raw().front(), 0xfd);
}

TEST(AddressTest, RefusesWhatTheCLibraryWouldGuess) {
  for (const char* text :
       {"", "10", "10.5.1", "10.5.1.7.9", "10.5.1.", ".5.1.7", "10..1.7", "10.5.1.256", "10.5.1.07",
        "10.5.1.-1", "10.5.1.+7", "0x0a.5.1.7", " 10.5.1.7", "10.5.1.7 ", "10.5.1.7/32",
        "10.5.1.7\n", "a.b.c.d", "10.5.1.4294967296"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.error().code(), base::Code::kInvalid) << text;
    EXPECT_NE(address.error().message().find("10.5.1.7"), std::string::npos);
  }
}

TEST(AddressTest, RefusesOtherIpv6Texts) {
  for (const char* text : {":", ":::", "1:2:3", "fd00:5::7%eth0", "::ffff:10.5.1.7", "fd00::5::7",
                           "1:2:3:4:5:6:7:8:9", "[::1]", "::1 ", "fd00::g", "::1/128"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.error().code(), base::Code::kInvalid) << text;
  }
}

TEST(AddressTest, IsWhatItsBytesSay) {
  for (const char* text : {"10.5.1.7", "fd00:5::7"}) {
    EXPECT_EQ(from_raw(ip(text).raw()), ip(text));
  }
  const std::array<uint8_t, 17> bytes{};
  for (const size_t size : {size_t{0}, size_t{3}, size_t{5}, size_t{15}, size_t{17}}) {
    EXPECT_FALSE(from_raw(std::span(bytes).first(size)).has_value()) << size;
  }
}

TEST(AddressTest, OfOneFamilyIsNeverThatOfTheOther) {
  EXPECT_NE(ip("0.0.0.0"), ip("::"));
  EXPECT_LT(ip("255.255.255.255"), ip("::"));
  EXPECT_LT(ip("10.5.1.255"), ip("10.5.2.0"));
}

TEST(NextAddressTest, CarriesAndWrapsAround) {
  EXPECT_EQ(next(ip("10.5.1.7")), ip("10.5.1.8"));
  EXPECT_EQ(next(ip("10.5.1.255")), ip("10.5.2.0"));
  EXPECT_EQ(next(ip("255.255.255.255")), ip("0.0.0.0"));
  EXPECT_EQ(next(ip("fd00:5::ffff")), ip("fd00:5::1:0"));
  EXPECT_EQ(next(ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")), ip("::"));
}

TEST(NextAddressTest, IsUndoneByPrevious) {
  for (const char* text : {"0.0.0.0", "10.5.1.255", "255.255.255.255", "::", "fd00:5::ffff",
                           "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}) {
    EXPECT_EQ(previous(next(ip(text))), ip(text));
    EXPECT_EQ(next(previous(ip(text))), ip(text));
  }
}

TEST(CountTest, CountsBothEnds) {
  EXPECT_EQ(count_between(ip("10.5.1.7"), ip("10.5.1.7"), 1000), 1U);
  EXPECT_EQ(count_between(ip("10.5.1.7"), ip("10.5.1.8"), 1000), 2U);
  EXPECT_EQ(count_between(ip("10.5.1.255"), ip("10.5.2.0"), 1000), 2U);
  EXPECT_EQ(count_between(ip("10.5.0.0"), ip("10.5.255.255"), 100000), 65536U);
  EXPECT_EQ(count_between(ip("fd00::ff"), ip("fd00::1:0"), 100000), 65282U);
}

TEST(CountTest, IsAtMostTheMost) {
  EXPECT_EQ(count_between(ip("10.5.1.7"), ip("10.5.1.9"), 2), 2U);
  EXPECT_EQ(count_between(ip("0.0.0.0"), ip("255.255.255.255"), UINT32_MAX), UINT32_MAX);
  EXPECT_EQ(count_between(ip("::"), ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), UINT32_MAX),
            UINT32_MAX);
  EXPECT_EQ(count_between(ip("fd00::"), ip("fd00:1::"), 5), 5U);
}

TEST(CountTest, IsZeroForARangeThatIsNone) {
  EXPECT_EQ(count_between(ip("10.5.1.8"), ip("10.5.1.7"), 1000), 0U);
  EXPECT_EQ(count_between(ip("10.5.1.8"), ip("fd00::1"), 1000), 0U);
  EXPECT_EQ(count_between(ip("fd00::1"), ip("10.5.1.8"), 1000), 0U);
}

TEST(PrefixTest, ReadsAndWritesTheSameText) {
  for (const char* text : {"0.0.0.0/0", "10.5.0.0/16", "10.5.1.0/25", "10.5.1.7/32", "::/0",
                           "fd00:5::/64", "fd00:5::8/125", "fd00:5::7/128"}) {
    const auto prefix = parse_prefix(text);
    ASSERT_TRUE(prefix.ok()) << prefix.error().message();
    EXPECT_EQ(to_string(prefix.value()), text);
  }
}

TEST(PrefixTest, RefusesAnythingElse) {
  for (const char* text :
       {"", "/", "10.5.0.0", "10.5.0.0/", "10.5.0.0/33", "10.5.0.0/-1", "10.5.0.0/16/1", "10.5/16",
        "10.5.0.0/ 16", "10.5.0.0/255.255.0.0", "fd00:5::", "fd00:5::/129", "fd00:5::/"}) {
    const auto prefix = parse_prefix(text);
    ASSERT_FALSE(prefix.ok()) << text;
    EXPECT_EQ(prefix.error().code(), base::Code::kInvalid) << text;
  }
}

TEST(PrefixTest, SaysWhatAPrefixWithHostBitsShouldBe) {
  EXPECT_EQ(parse_prefix("10.5.1.7/16").error().message(),
            "prefix '10.5.1.7/16' has host bits set; write 10.5.0.0/16");
  EXPECT_EQ(parse_prefix("fd00:5::7/64").error().message(),
            "prefix 'fd00:5::7/64' has host bits set; write fd00:5::/64");
}

TEST(PrefixTest, ContainsExactlyItsRange) {
  const Prefix prefix = net("10.5.4.0/22");
  EXPECT_TRUE(prefix.contains(ip("10.5.4.0")));
  EXPECT_TRUE(prefix.contains(ip("10.5.7.255")));
  EXPECT_FALSE(prefix.contains(ip("10.5.3.255")));
  EXPECT_FALSE(prefix.contains(ip("10.5.8.0")));
  EXPECT_TRUE(net("fd00:5::/63").contains(ip("fd00:5:0:1::")));
  EXPECT_FALSE(net("fd00:5::/64").contains(ip("fd00:5:0:1::")));
}

TEST(PrefixTest, OfLengthZeroContainsAllOfItsFamilyAndTheLongestContainsOne) {
  EXPECT_TRUE(net("0.0.0.0/0").contains(ip("255.255.255.255")));
  EXPECT_FALSE(net("0.0.0.0/0").contains(ip("::")));
  EXPECT_FALSE(net("::/0").contains(ip("10.5.1.7")));
  for (const char* text : {"10.5.1.7", "fd00:5::7"}) {
    const Prefix one = host_prefix(ip(text));
    EXPECT_TRUE(one.contains(one.address));
    EXPECT_FALSE(one.contains(next(one.address)));
    EXPECT_FALSE(one.contains(previous(one.address)));
  }
}

TEST(PrefixTest, OverlapsWhatItContainsAndWhatContainsIt) {
  EXPECT_TRUE(net("10.5.0.0/16").overlaps(net("10.5.4.0/22")));
  EXPECT_TRUE(net("10.5.4.0/22").overlaps(net("10.5.0.0/16")));
  EXPECT_TRUE(net("10.5.4.0/22").overlaps(net("10.5.4.0/22")));
  EXPECT_FALSE(net("10.5.4.0/22").overlaps(net("10.5.8.0/22")));
  EXPECT_TRUE(net("fd00:5::/32").overlaps(net("fd00:5:1::/64")));
  EXPECT_FALSE(net("::/0").overlaps(net("0.0.0.0/0")));
}

TEST(PrefixTest, KnowsItsFirstAndLastAddress) {
  const Prefix odd{parse_address("10.1.3.77").take(), 20};  // with host bits
  EXPECT_EQ(to_string(first_of(odd)), "10.1.0.0");
  EXPECT_EQ(to_string(last_of(odd)), "10.1.15.255");
  const Prefix six{parse_address("fd00:5::9").take(), 64};
  EXPECT_EQ(to_string(first_of(six)), "fd00:5::");
  EXPECT_EQ(to_string(last_of(six)), "fd00:5::ffff:ffff:ffff:ffff");
  EXPECT_EQ(to_string(link_local_ipv6()), "fe80::/10");
}

TEST(MacAddressTest, ReadsEitherCaseAndWritesLowerCase) {
  const auto mac = parse_mac("02:00:0A:05:c8:0a");
  ASSERT_TRUE(mac.ok()) << mac.error().message();
  EXPECT_EQ(mac.value().bytes, (std::array<uint8_t, 6>{0x02, 0x00, 0x0a, 0x05, 0xc8, 0x0a}));
  EXPECT_EQ(to_string(mac.value()), "02:00:0a:05:c8:0a");
}

TEST(MacAddressTest, RefusesAnythingElse) {
  for (const char* text :
       {"", "02:00:0a:05:c8", "02:00:0a:05:c8:0a:0b", "02-00-0a-05-c8-0a", "2:0:a:5:c8:a",
        "02:00:0a:05:c8:0g", "02:00:0a:05:c8:-1", "02000a05c80a", "02:00:0a:05:c8:0a "}) {
    const auto mac = parse_mac(text);
    ASSERT_FALSE(mac.ok()) << text;
    EXPECT_EQ(mac.error().code(), base::Code::kInvalid) << text;
  }
}

TEST(AddressTest, CountsOnToALaterOne) {
  EXPECT_EQ(later(ip("10.5.1.7"), 0), ip("10.5.1.7"));
  EXPECT_EQ(later(ip("10.5.1.255"), 1), ip("10.5.2.0"));
  EXPECT_EQ(later(ip("10.5.0.0"), 0x012345), ip("10.6.35.69"));
  EXPECT_EQ(later(ip("255.255.255.254"), 1), ip("255.255.255.255"));
  EXPECT_EQ(later(ip("255.255.255.254"), 2), std::nullopt);
  EXPECT_EQ(later(ip("fd00:5::ffff:fffe"), 5), ip("fd00:5::1:0:3"));
  EXPECT_EQ(later(ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), 1), std::nullopt);
}

}  // namespace
}  // namespace netns
