// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/json.h"
#include "hook/ledger/internal/schema.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using testing::ElementsAre;

class DumpTest : public LedgerFixture {
 protected:
  base::Json dump() { return base::parse_json(ledger_.dump().take(), "dump").take(); }
};

TEST_F(DumpTest, HasEveryPartAlsoOfAnEmptyLedger) {
  std::vector<std::string> keys;
  const base::Json all = dump();
  for (const auto& [key, value] : all.items()) keys.push_back(key);
  EXPECT_THAT(keys,
              ElementsAre("schema", "leases", "addresses", "ipus", "partitions", "waiters", "usage",
                          "refused", "rooms", "endpoints", "events", "refusals", "meta"));
}

TEST_F(DumpTest, HasWhatTheLedgerHas) {
  Lease lease = acquire("web");
  ASSERT_TRUE(
      test::succeeds(ledger_.mark_allocated(lease, {ipu("10.5.1.1", 0)}, {}, {{rail_, "roce0"}})));
  PartitionRecord record;
  record.pool = "pod64";
  record.name = "p0";
  ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(record)));
  Waiter waiter;
  waiter.resource = "pod64";
  waiter.container = "waits";
  ASSERT_TRUE(test::succeeds(ledger_.queue().enter(waiter)));
  release(acquire("ended"));
  const base::Json all = dump();
  EXPECT_EQ(all["schema"], kNewestVersion);
  ASSERT_EQ(all["leases"].size(), 2U);
  EXPECT_EQ(all["leases"][0].size(), 38U);
  EXPECT_EQ(all["addresses"][0]["address"], "10.5.200.10");
  EXPECT_EQ(all["addresses"][0]["lease"], lease.id);
  EXPECT_EQ(all["addresses"][0]["free_at"], nullptr);
  EXPECT_EQ(all["ipus"][0]["address"], "10.5.1.1");
  EXPECT_EQ(all["partitions"][0]["name"], "p0");
  EXPECT_EQ(all["waiters"][0]["container"], "waits");
  EXPECT_EQ(all["events"][1]["number"], 2);
  EXPECT_EQ(all["events"][1]["details"]["addresses"][0], "10.5.200.10");
  EXPECT_TRUE(all["meta"].contains("audit"));
}

TEST_F(DumpTest, IsOfOneMoment) {
  // A lease and its first event are committed together: no dump has one without the other.
  std::atomic<bool> done = false;
  std::thread writer([&] {
    Ledger other = open();
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(test::succeeds(other.acquire(intent("web"))));
    done = true;
  });
  bool last = false;
  do {
    last = done;
    const base::Json all = dump();
    EXPECT_EQ(all["leases"].size(), all["events"].size());
  } while (!last);
  writer.join();
}

}  // namespace
}  // namespace hook::ledger
