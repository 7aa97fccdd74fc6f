// SPDX-License-Identifier: Apache-2.0
#include "vipu/made_name.h"

#include <gtest/gtest.h>

#include <string>

#include "vipu/types.h"

namespace vipu {
namespace {

TEST(MadeName, HasKindHostAndNumber) {
  for (const MadeFor what : {MadeFor::kLease, MadeFor::kWarm, MadeFor::kReservation,
                             MadeFor::kClaim, MadeFor::kSession}) {
    const MadeName made{what, "1f2e3d4c", "0123456789ab"};
    const std::string name = to_string(made);
    EXPECT_EQ(parse_made_name(name), made) << name;
    EXPECT_TRUE(is_partition_name(name)) << name;
    EXPECT_TRUE(is_unique_name(name)) << name;
    EXPECT_TRUE(is_of_host(name, "1f2e3d4c")) << name;
    EXPECT_FALSE(is_of_host(name, "1f2e3d4d")) << name;
  }
}

TEST(MadeName, OfAFleetIsNoHosts) {
  const MadeName made{MadeFor::kFleetWarm, "1f2e3d4c", "0123456789ab"};
  EXPECT_EQ(to_string(made), "f-1f2e3d4c-0123456789ab");
  EXPECT_EQ(parse_made_name("f-1f2e3d4c-0123456789ab"), made);
  EXPECT_TRUE(is_unique_name("f-1f2e3d4c-0123456789ab"));
  EXPECT_TRUE(is_of_fleet("f-1f2e3d4c-0123456789ab"));
  EXPECT_FALSE(is_of_fleet("w-1f2e3d4c-0123456789ab"));
  EXPECT_FALSE(is_of_host("f-1f2e3d4c-0123456789ab", "1f2e3d4c"));
  EXPECT_FALSE(parse_made_name("f-0123456789ab"));
}

TEST(MadeName, OfAReleaseBefore01SaysNoHost) {
  for (const char* name : {"c-0123456789ab", "w-0123456789ab", "r-0123456789ab"}) {
    const std::optional<MadeName> made = parse_made_name(name);
    ASSERT_TRUE(made) << name;
    EXPECT_EQ(to_string(*made), name);
    EXPECT_EQ(made->host, "");
    EXPECT_FALSE(is_unique_name(name)) << name;
    EXPECT_FALSE(is_of_host(name, "")) << name;
  }
}

TEST(MadeName, LeavesAllOthersToPeople) {
  for (const char* name : {"",
                           "c",
                           "c-",
                           "c-train",
                           "s-train",
                           "k-0123456789ab",
                           "s-0123456789ab",
                           "w-1",
                           "c-0123456789a",
                           "c-0123456789abc",
                           "c-0123456789aB",
                           "x-0123456789ab",
                           "p0",
                           "x-1f2e3d4c-0123456789ab",
                           "c-1f2e3d4c-0123456789a",
                           "c-1f2e3d4c-0123456789abc",
                           "c-1f2e3d4g-0123456789ab",
                           "c-1f2e3d4c_0123456789ab",
                           "c_1f2e3d4c-0123456789ab",
                           "c-1f2e3d4c-0123456789aB",
                           "c-1f2e3d4-c0123456789ab"}) {
    EXPECT_FALSE(parse_made_name(name)) << name;
    EXPECT_FALSE(is_unique_name(name)) << name;
    EXPECT_FALSE(is_of_host(name, "1f2e3d4c")) << name;
  }
}

}  // namespace
}  // namespace vipu
