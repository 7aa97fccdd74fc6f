// SPDX-License-Identifier: Apache-2.0
// The records of named partitions and reservations, from which a lost ledger is rebuilt.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "hook/ledger/rebuilder.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using namespace base::names;

class PartitionFilesTest : public LedgerFixture {
 protected:
  PartitionRecord make(const std::string& name, const std::string& reservation) {
    PartitionRecord record;
    record.pool = "pod64";
    record.name = name;
    record.source = "10.1.3.101:8090";
    record.ipus = 8;
    record.gcds = 2;
    record.reservation = reservation;
    record.reserved_for = "alice";
    record.user = 1000;
    record.created_ms = 7;
    EXPECT_TRUE(test::succeeds(ledger_.partitions().intend(record)));
    EXPECT_TRUE(test::succeeds(ledger_.partitions().mark_ready(record)));
    return record;
  }
  void begin_to_write(const std::string& name) {
    const std::string path = base::directory_of(path_) + "/partitions/" + name;
    ASSERT_TRUE(test::succeeds(base::write_atomic(path, "{", {})));
  }
  Salvaged salvage() {
    { const Ledger closed = std::move(ledger_); }
    for (const char* suffix : {"", "-wal", "-shm"})
      EXPECT_TRUE(test::succeeds(base::remove_file(path_ + suffix)));
    Rebuilder rebuilder = Rebuilder::enter(path_).take();
    return rebuilder.salvage().take();
  }
};

// The end of a reservation is set beside its removal.
TEST_F(PartitionFilesTest, AreNotWrittenAgainForWhatWasRemoved) {
  make("r-0123456789ab", "night");
  const PartitionRecord night = ledger_.partitions().find("pod64", "r-0123456789ab").take().value();
  PartitionRecord removed = night;
  ASSERT_TRUE(test::succeeds(ledger_.partitions().begin_removal(
      removed, base::current_process().take(), vipu::Force::kNo)));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().finish_removal(removed, base::Removed::kNow)));
  EXPECT_TRUE(test::fails(ledger_.partitions().set_end(night, int64_t{1} << 42), Code::kBusy));
  EXPECT_TRUE(test::fails(ledger_.partitions().mark_ready(night), Code::kBusy));
  EXPECT_TRUE(salvage().partitions.empty());
}

TEST_F(PartitionFilesTest, RememberAReservationWhenTheLedgerIsLost) {
  const PartitionRecord night = make("r-0123456789ab", "night");
  ASSERT_TRUE(test::succeeds(ledger_.partitions().set_end(night, int64_t{1} << 42)));
  const Salvaged salvaged = salvage();
  EXPECT_TRUE(salvaged.notes.empty());
  ASSERT_EQ(salvaged.partitions.size(), 1U);
  const PartitionRecord& found = salvaged.partitions[0];
  EXPECT_EQ(found.name, night.name);
  EXPECT_EQ(found.source, night.source);
  EXPECT_EQ(found.gcds, 2U);
  EXPECT_EQ(found.reservation, "night");
  EXPECT_EQ(found.reserved_for, "alice");
  EXPECT_EQ(found.user, 1000);
  EXPECT_EQ(found.until_ms, int64_t{1} << 42);
  EXPECT_EQ(found.state, PartitionState::kReady);
  EXPECT_TRUE(found.dirty) << "a container may have had it";
}

// Others may use its name then. So is what a killed process had begun to write.
TEST_F(PartitionFilesTest, AreGoneWithThePartition) {
  const PartitionRecord p0 = make("p0", "");
  begin_to_write(".p0@pod64.0123");
  ASSERT_TRUE(test::succeeds(ledger_.partitions().finish_removal(p0)));
  const Salvaged salvaged = salvage();
  EXPECT_TRUE(salvaged.partitions.empty());
  EXPECT_TRUE(salvaged.notes.empty());
}

// A command that was killed is repeated, and the partition stays.
TEST_F(PartitionFilesTest, HalfWrittenOnesGoWithTheNextThatIsWritten) {
  const PartitionRecord p0 = make("p0", "");
  begin_to_write(".p0@pod64.0123");
  begin_to_write(".p1@pod64.0123");
  ASSERT_TRUE(test::succeeds(ledger_.partitions().share(p0, "/f/", {})));
  const Salvaged salvaged = salvage();
  EXPECT_TRUE(salvaged.notes.empty());
  ASSERT_EQ(salvaged.partitions.size(), 1U);
  EXPECT_EQ(salvaged.partitions[0].fleet, "/f/");
}

TEST_F(PartitionFilesTest, AreBelievedOnlyUnderTheirOwnName) {
  make("p0", "");
  const std::string folder = dir_ / "state/partitions";
  std::filesystem::rename(folder + "/p0@pod64", folder + "/p1@pod64");
  const Salvaged salvaged = salvage();
  EXPECT_TRUE(salvaged.partitions.empty());
  ASSERT_EQ(salvaged.notes.size(), 1U);
  EXPECT_NE(salvaged.notes[0].find("is no record of a partition"), std::string::npos);
}

// A request whose answer was lost may still make a partition of a random name.
TEST_F(PartitionFilesTest, OfARandomNameThatWasAbsentIsExpectedLater) {
  const PartitionRecord night = make("r-0123456789ab", "night");
  const PartitionRecord p0 = make("p0", "");
  ASSERT_TRUE(
      test::succeeds(ledger_.partitions().finish_removal(night, base::Removed::kWasAbsent)));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().finish_removal(p0, base::Removed::kWasAbsent)));
  const std::vector<PartitionSource> sources = ledger_.partitions().late_sources().take();
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(sources[0].pool, night.pool);
  EXPECT_EQ(sources[0].source, night.source);
  EXPECT_TRUE(ledger_.partitions().is_late(sources[0], night.name).value());
  EXPECT_FALSE(ledger_.partitions().is_late(sources[0], p0.name).value());
}

}  // namespace
}  // namespace hook::ledger
