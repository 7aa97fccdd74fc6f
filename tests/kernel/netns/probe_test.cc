// SPDX-License-Identifier: Apache-2.0
#include "netns/probe.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/kernel/netns/wire.h"
#include "tests/support/outcome.h"

namespace netns {
namespace {

using base::Code;
using std::chrono::milliseconds;

constexpr milliseconds kAnswerTime{2000};  // an answer is there at once
constexpr milliseconds kShort{30};

class ProbeTest : public Wire {
 protected:
  std::optional<MacAddress> probe(const char* address, milliseconds time) {
    return take(probe_address(here(), "nic", take(parse_address(address)),
                              base::Deadline::after(time)))
        .claimant;
  }
  // "" if nobody answers.
  std::string holder(const char* address, milliseconds time = kAnswerTime) {
    const std::optional<MacAddress> mac = probe(address, time);
    return mac ? to_string(*mac) : "";
  }
};

TEST_F(ProbeTest, FindsTheHostThatHasAnIpv4Address) {
  run(there(), "address add 10.5.0.7/16 dev far");
  EXPECT_EQ(holder("10.5.0.7"), "02:00:00:00:00:02");
  EXPECT_EQ(holder("10.5.0.8", kShort), "");
}

TEST_F(ProbeTest, FindsTheHostThatHasAnIpv6Address) {
  run(there(), "address add fd00:5::7/64 dev far nodad");
  EXPECT_EQ(holder("fd00:5::7"), "02:00:00:00:00:02");
  EXPECT_EQ(holder("fd00:5::8", kShort), "");
  EXPECT_EQ(holder("fd00:6::7", kShort), "") << "of the same multicast group";
}

// As a frame that was lost, or a host that is about to join the group of its new address.
TEST_F(ProbeTest, AsksAgainWhereNobodyAnsweredTheFirstTime) {
  auto asked = std::async(std::launch::async, [&] { return holder("10.5.0.7"); });
  std::this_thread::sleep_for(kAnswerTime / 10);
  run(there(), "address add 10.5.0.7/16 dev far");
  EXPECT_EQ(asked.get(), "02:00:00:00:00:02");
}

TEST_F(ProbeTest, FindsAMacvlanOfAnotherHostByItsOwnMac) {
  const Namespace container = add_namespace();
  run(there(), "link add roce0 link far address 02:00:00:00:00:0a type macvlan mode private");
  run(there(), "link set roce0 netns " + path_of(container));
  run(container, "address add 10.5.0.7/32 dev roce0");
  run(container, "link set roce0 up");
  EXPECT_EQ(holder("10.5.0.7"), "02:00:00:00:00:0a");
}

TEST_F(ProbeTest, DoesNotFindTheHostItself) {
  run(here(), "address add 10.5.0.7/16 dev nic");
  run(here(), "address add fd00:5::7/64 dev nic nodad");
  EXPECT_EQ(holder("10.5.0.7", kShort), "");
  EXPECT_EQ(holder("fd00:5::7", kShort), "");
}

TEST_F(ProbeTest, DoesNotFindAnotherHostThatHasItsMac) {
  // As a packet of this host that comes back.
  run(there(), "link set far address 02:00:00:00:00:01");
  run(there(), "address add 10.5.0.7/16 dev far");
  EXPECT_EQ(holder("10.5.0.7", kShort), "");
}

TEST_F(ProbeTest, LeavesNoTraceInTheNeighbourTableOfTheOtherHost) {
  run(there(), "address add 10.5.0.7/16 dev far");
  EXPECT_EQ(holder("10.5.0.7"), "02:00:00:00:00:02");
  EXPECT_EQ(run(there(), "-4 neighbour show"), "");
}

TEST_F(ProbeTest, EndsAtTheDeadline) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(holder("10.5.0.7", kShort), "");
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, kShort - milliseconds(1));
  EXPECT_LT(took, milliseconds(1000));
}

TEST_F(ProbeTest, FindsNobodyWithoutACarrierAndDoesNotWait) {
  for (const char* link : {"link set nic down", "link set nic up"}) {
    run(there(), "link set far down");
    run(here(), link);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(holder("10.5.0.7"), "");
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(1000));
  }
}

TEST_F(ProbeTest, NamesAParentThatIsNone) {
  const Address address = take(parse_address("10.5.0.7"));
  EXPECT_TRUE(test::fails(probe_address(here(), "rnic9", address, base::Deadline::after(kShort)),
                          Code::kNotFound, "'rnic9'"));
  EXPECT_TRUE(test::fails(probe_address(here(), "lo", address, base::Deadline::after(kShort)),
                          Code::kInvalid, "not an Ethernet"));
}

}  // namespace
}  // namespace netns
