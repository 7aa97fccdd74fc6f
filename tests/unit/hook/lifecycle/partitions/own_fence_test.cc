// SPDX-License-Identifier: Apache-2.0
// What a host that was fenced and lives has lost.
#include "hook/lifecycle/partitions/own_fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hook::lifecycle::partitions {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ledger::Lease running(const std::string& id, const std::string& partition) {
  ledger::Lease lease;
  lease.id = id;
  lease.pool = "pod16";
  lease.controller = "10.5.1.254:8090";
  lease.partition = partition;
  lease.state = ledger::LeaseState::kRunning;
  lease.created_ms = 1000;
  return lease;
}

std::vector<std::string> cut(const std::vector<ledger::Lease>& live) {
  std::vector<std::string> ids;
  for (const ledger::Lease& one : cut_off(live, "11111111", "/f/")) ids.push_back(one.id);
  return ids;
}

TEST(CutOffTest, IsWhatTheFenceRemoved) {
  ledger::Lease claimed = running("claimed", "train");
  claimed.claim = "claimed";
  claimed.fleet = "/f/";
  ledger::Lease joined = running("joined", "train");
  joined.origin = ledger::Origin::kJoined;
  EXPECT_THAT(cut({running("own", "c-11111111-0123456789ab"),
                   running("reserved", "r-11111111-0123456789ab"), joined, claimed}),
              ElementsAre("own", "reserved", "joined", "claimed"));
}

TEST(CutOffTest, IsNothingElse) {
  ledger::Lease other_fleet = running("other fleet", "train");
  other_fleet.claim = "other fleet";
  other_fleet.fleet = "/other/";
  ledger::Lease slice = running("slice", "c-11111111-0123456789ab");
  slice.controller = "ipuof:/etc/ipuof.conf.d/pod.conf";
  ledger::Lease cards = slice;
  cards.controller = "pcie:";
  ledger::Lease ends = running("ends", "c-11111111-0123456789ab");
  ends.state = ledger::LeaseState::kReleasing;
  ledger::Lease joined = running("joined", "named");
  joined.origin = ledger::Origin::kJoined;
  EXPECT_THAT(cut({other_fleet, slice, cards, ends, joined, running("named", "named"),
                   running("untagged", "c-0123456789ab"),
                   running("of another", "c-22222222-0123456789ab")}),
              IsEmpty());
}

}  // namespace
}  // namespace hook::lifecycle::partitions
