// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/gate.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include "base/fs.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/record.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;

using GateTest = LedgerFixture;

sqlite::Database impatient(const std::string& path) {
  return sqlite::Database::open(path, 10).take();
}

TEST_F(GateTest, LetsThoseThatOpenTheLedgerInTogether) {
  const Gate first = Gate::enter(path_, Gate::Way::kOpen).take();
  EXPECT_TRUE(test::succeeds(Gate::enter(path_, Gate::Way::kOpen)));
}

TEST_F(GateTest, KeepsTheLedgerFromBeingOpenedWhileItIsRebuilt) {
  const Gate rebuild = Gate::enter(path_, Gate::Way::kRebuild).take();
  EXPECT_TRUE(test::fails(Ledger::open(path_), Code::kBusy, "rebuild' is under way"));
}

TEST_F(GateTest, KeepsWritersAwayThatHaveTheLedgerOpen) {
  sqlite::Database writer = impatient(path_);
  ASSERT_TRUE(test::succeeds(sqlite::Transaction::begin(writer)));
  {
    const WritersFence fence = WritersFence::raise(path_).take();
    EXPECT_TRUE(test::fails(sqlite::Transaction::begin(writer), Code::kBusy));
    EXPECT_TRUE(test::succeeds(ledger_.live()));
  }
  EXPECT_TRUE(test::succeeds(sqlite::Transaction::begin(writer)));
}

TEST_F(GateTest, IsNoneForALedgerThatNobodyHasOpen) {
  EXPECT_TRUE(test::succeeds(WritersFence::raise(dir_ / "state/other.db")));
}

TEST_F(GateTest, RefusesTheNextChangeOfWhoHasAFileThatWasMoved) {
  Lease lease = acquire();
  ASSERT_EQ(::rename(path_.c_str(), (path_ + ".old").c_str()), 0);
  EXPECT_TRUE(test::fails(ledger_.begin_release(lease, releaser_, ""), Code::kUnavailable,
                          "was rebuilt meanwhile; try again"));
  EXPECT_FALSE(ledger_.acquire(intent("late")).ok());
}

using RecordTest = LedgerFixture;

TEST_F(RecordTest, HasAllThatALeaseHolds) {
  Lease lease = allocate("web");
  ASSERT_TRUE(test::succeeds(ledger_.begin_attach(lease, releaser_, {{4, 11, ~0ULL}, 3, 13})));
  lease.devices = {ipu("10.5.1.1", 2)};
  lease.prohibited = {rail_.subnet};
  lease.rails[0].peers = {{ip("10.5.9.9"), 4791}};
  const Lease read = parse_record(to_record(lease)).take();
  EXPECT_EQ(to_record(read), to_record(lease));
  EXPECT_EQ(read.id, lease.id);
  EXPECT_EQ(read.owner, lease.owner);
  EXPECT_EQ(read.netns, lease.netns);
  EXPECT_EQ(read.rails, lease.rails);
  EXPECT_EQ(read.devices, lease.devices);
  EXPECT_EQ(read.prohibited.size(), 1U);
  EXPECT_EQ(read.generation, lease.generation);
}

TEST_F(RecordTest, HasTheGcdsOfALeaseOrOne) {
  Lease lease = allocate("web");
  lease.gcds = 2;
  const std::string text = to_record(lease);
  EXPECT_EQ(parse_record(text).take().gcds, 2U);
  const std::string member = "\"gcds\":2";
  const size_t at = text.find(member);
  ASSERT_NE(at, std::string::npos);
  const auto with = [&](const std::string& other) {
    return std::string(text).replace(at, member.size(), other);
  };
  EXPECT_EQ(parse_record(with("\"other\":2")).take().gcds, 1U) << "an earlier build wrote it";
  EXPECT_EQ(parse_record(with("\"gcds\":0")).take().gcds, 1U);
}

TEST_F(RecordTest, IsNoneWhereAnythingIsMissingOrWrong) {
  const std::string whole = to_record(allocate("web"));
  for (const char* part :
       {"\"lease\"", "\"pid\"", "\"rails\"", "\"origin\"", "\"devices\"", "\"mac\"", "ALLOCATED"}) {
    std::string text = whole;
    const size_t at = text.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    text.replace(at + 1, 1, "?");
    EXPECT_TRUE(test::fails(parse_record(text), Code::kInvalid)) << text;
  }
  EXPECT_FALSE(parse_record("").ok());
  EXPECT_FALSE(parse_record("[]").ok());
}

}  // namespace
}  // namespace hook::ledger
