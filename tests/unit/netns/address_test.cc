// SPDX-License-Identifier: Apache-2.0
#include "netns/address.h"

#include <gtest/gtest.h>

namespace netns {
namespace {

TEST(Ipv4Test, ReadsAndWritesTheSameText) {
  for (const char* text : {"0.0.0.0", "10.5.1.7", "127.0.0.1", "255.255.255.255"}) {
    const auto address = parse_ipv4(text);
    ASSERT_TRUE(address.ok()) << address.error().message();
    EXPECT_EQ(to_string(address.value()), text);
  }
}

TEST(Ipv4Test, IsInHostByteOrder) { EXPECT_EQ(parse_ipv4("10.5.1.7").value().value, 0x0a050107U); }

TEST(Ipv4Test, RefusesWhatTheCLibraryWouldGuess) {
  for (const char* text :
       {"", "10", "10.5.1", "10.5.1.7.9", "10.5.1.", ".5.1.7", "10..1.7", "10.5.1.256", "10.5.1.07",
        "10.5.1.-1", "10.5.1.+7", "0x0a.5.1.7", " 10.5.1.7", "10.5.1.7 ", "10.5.1.7/32",
        "10.5.1.7\n", "a.b.c.d", "::1", "10.5.1.4294967296"}) {
    const auto address = parse_ipv4(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.error().code(), base::Code::kInvalid) << text;
    EXPECT_NE(address.error().message().find("10.5.1.7"), std::string::npos);
  }
}

TEST(Ipv4PrefixTest, ReadsAndWritesTheSameText) {
  for (const char* text : {"0.0.0.0/0", "10.5.0.0/16", "10.5.1.0/25", "10.5.1.7/32"}) {
    const auto prefix = parse_ipv4_prefix(text);
    ASSERT_TRUE(prefix.ok()) << prefix.error().message();
    EXPECT_EQ(to_string(prefix.value()), text);
  }
}

TEST(Ipv4PrefixTest, RefusesAnythingElse) {
  for (const char* text : {"", "/", "10.5.0.0", "10.5.0.0/", "10.5.0.0/33", "10.5.0.0/-1",
                           "10.5.0.0/16/1", "10.5/16", "10.5.0.0/ 16", "10.5.0.0/255.255.0.0"}) {
    const auto prefix = parse_ipv4_prefix(text);
    ASSERT_FALSE(prefix.ok()) << text;
    EXPECT_EQ(prefix.error().code(), base::Code::kInvalid) << text;
  }
}

TEST(Ipv4PrefixTest, SaysWhatAPrefixWithHostBitsShouldBe) {
  const auto prefix = parse_ipv4_prefix("10.5.1.7/16");
  ASSERT_FALSE(prefix.ok());
  EXPECT_EQ(prefix.error().message(), "prefix '10.5.1.7/16' has host bits set; write 10.5.0.0/16");
}

TEST(Ipv4PrefixTest, ContainsExactlyItsRange) {
  const Ipv4Prefix prefix = parse_ipv4_prefix("10.5.4.0/22").value();
  EXPECT_TRUE(prefix.contains(parse_ipv4("10.5.4.0").value()));
  EXPECT_TRUE(prefix.contains(parse_ipv4("10.5.7.255").value()));
  EXPECT_FALSE(prefix.contains(parse_ipv4("10.5.3.255").value()));
  EXPECT_FALSE(prefix.contains(parse_ipv4("10.5.8.0").value()));
}

TEST(Ipv4PrefixTest, LengthZeroContainsAllAndThirtyTwoContainsOne) {
  EXPECT_TRUE(parse_ipv4_prefix("0.0.0.0/0").value().contains(Ipv4{0xffffffff}));
  const Ipv4Prefix one = parse_ipv4_prefix("10.5.1.7/32").value();
  EXPECT_TRUE(one.contains(one.address));
  EXPECT_FALSE(one.contains(Ipv4{one.address.value + 1}));
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

}  // namespace
}  // namespace netns
