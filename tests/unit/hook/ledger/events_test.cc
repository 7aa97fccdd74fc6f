// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/events.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class EventsTest : public LedgerFixture {
 protected:
  std::vector<Event> all() { return ledger_.events().after(0, 10'000).take(); }
  // "KIND text" of each event of LEASE.
  std::vector<std::string> story(const Lease& lease) {
    std::vector<std::string> lines;
    for (const Event& event : ledger_.events().of_lease(lease.id).take()) {
      lines.push_back(base::str(name_of(event.kind), " ", event.text));
    }
    return lines;
  }
  PartitionRecord record(const std::string& name) {
    PartitionRecord record;
    record.pool = pool_.name;
    record.name = name;
    record.ipus = 8;
    return record;
  }
};

TEST_F(EventsTest, AreOneForEachChangeInItsOrder) {
  Lease lease = allocate("web");
  ASSERT_TRUE(test::succeeds(ledger_.mark_running(lease, {4213, 101})));
  release(lease);
  EXPECT_THAT(story(lease),
              ElementsAre("STATE INTENT", "STATE ALLOCATED", "STATE RUNNING, as process 4213",
                          "STATE RELEASING", "STATE QUARANTINE"));
  int64_t last = 0;
  for (const Event& event : all()) {
    EXPECT_EQ(event.number, ++last);
    EXPECT_EQ(event.container, "web");
    EXPECT_EQ(event.pool, "pod64");
    EXPECT_EQ(event.partition, lease.partition);
  }
  EXPECT_EQ(ledger_.events().last().value(), 5);
}

TEST_F(EventsTest, SayWhoDidItAndWhatTheChangeGave) {
  const Lease lease = allocate();
  const std::vector<Event> events = all();
  EXPECT_THAT(events.at(0).details,
              testing::HasSubstr("\"tenant\":\"team-a\",\"ipus\":4,\"uid\":"));
  EXPECT_THAT(events.at(1).details, testing::HasSubstr("\"addresses\":[\"10.5.200.10\"]"));
  EXPECT_THAT(events.at(1).details, testing::HasSubstr("/bin/unit-"));
}

TEST_F(EventsTest, NotesComeBeforeTheNextChangeOfTheirLeaseWithTheirOwnTimes) {
  Lease lease = acquire();
  const int64_t start = now_;
  now_ = start + 10;
  ledger_.note(lease.id, EventKind::kController, "create: ACTIVE after 10 ms");
  now_ = start + 15;
  ledger_.note(lease.id, EventKind::kNote, "two\nlines");
  now_ = start + 20;
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, {}, {}, {})));
  EXPECT_THAT(story(lease), ElementsAre("STATE INTENT", "CONTROLLER create: ACTIVE after 10 ms",
                                        "NOTE two lines", "STATE ALLOCATED"));
  std::vector<int64_t> times;
  for (const Event& event : all()) times.push_back(event.at_ms - start);
  EXPECT_THAT(times, ElementsAre(0, 10, 15, 20));
}

TEST_F(EventsTest, NotesAreWrittenOnceAndByNoOtherLease) {
  Lease noted = acquire("a");
  Lease other = acquire("b");
  ledger_.note(noted.id, EventKind::kKernel, "roce0: there");
  EXPECT_EQ(ledger_.events().last().value(), 2) << "a note is no transaction";
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(other, {}, {}, {})));
  EXPECT_EQ(story(other).size(), 2U);
  release(noted);
  EXPECT_THAT(story(noted),
              ElementsAre("STATE INTENT", "KERNEL roce0: there", "STATE RELEASING", "STATE FREE"));
}

TEST_F(EventsTest, NotesOfAChangeThatFailedAreWrittenByTheNextOne) {
  Lease lease = acquire();
  Lease old = lease;
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, {}, {}, {})));
  ledger_.note(lease.id, EventKind::kError, "it failed");
  EXPECT_FALSE(ledger_.begin_release(old, releaser_, "it failed").ok());
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "it failed")));
  EXPECT_THAT(story(lease),
              ElementsAre("STATE INTENT", "STATE ALLOCATED", "ERROR it failed", "STATE RELEASING"));
}

TEST_F(EventsTest, ACauseThatNoUserSawIsPartOfTheChange) {
  Lease lease = acquire();
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "process 7 ended")));
  EXPECT_THAT(story(lease), ElementsAre("STATE INTENT", "STATE RELEASING: process 7 ended"));
}

TEST_F(EventsTest, NotesAreBounded) {
  Lease lease = acquire();
  for (int i = 0; i < 100; ++i) ledger_.note(lease.id, EventKind::kNote, std::string(5000, 'x'));
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, {}, {}, {})));
  const std::vector<Event> events = all();
  EXPECT_EQ(events.size(), 66U);
  for (const Event& event : events) EXPECT_LE(event.text.size(), kMaxEventText);
}

TEST_F(EventsTest, PartitionsHaveEventsWithoutALease) {
  PartitionRecord named = record("p0");
  Partitions partitions = ledger_.partitions();
  ASSERT_TRUE(test::succeeds(partitions.intend(named)));
  ASSERT_TRUE(test::succeeds(partitions.mark_ready(named)));
  named.state = PartitionState::kReady;
  ASSERT_TRUE(test::succeeds(partitions.mark_reset(named)));
  ASSERT_TRUE(test::succeeds(partitions.begin_removal(named, releaser_, vipu::Force::kNo)));
  ASSERT_TRUE(test::succeeds(partitions.finish_removal(named)));
  std::vector<std::string> texts;
  for (const Event& event : all()) {
    EXPECT_EQ(event.lease, "");
    EXPECT_EQ(event.pool, "pod64");
    EXPECT_EQ(event.partition, "p0");
    texts.push_back(event.text);
  }
  EXPECT_THAT(texts,
              ElementsAre("INTENT, NAMED of 8 IPUs", "READY", "RESET", "REMOVING", "REMOVED"));
}

TEST_F(EventsTest, AWarmPartitionThatIsTakenIsInBothStories) {
  PartitionRecord warm = record("w-1");
  warm.kind = PartitionKind::kWarm;
  warm.ipus = 4;
  warm.source = config::source_of(pool_);
  ASSERT_TRUE(test::succeeds(ledger_.partitions().intend_warm(warm, 1)));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().mark_ready(warm)));
  Lease lease = acquire("web");
  ASSERT_TRUE(test::succeeds(ledger_.take_warm(lease)));
  EXPECT_THAT(story(lease), ElementsAre("STATE INTENT", "STATE took the warm partition w-1"));
  const std::vector<Event> events = all();
  EXPECT_EQ(events.at(3).text, "TAKEN");
  EXPECT_EQ(events.at(3).partition, "w-1");
  EXPECT_EQ(events.at(3).container, "web");
}

TEST_F(EventsTest, AreFoundByNumberAndByTime) {
  const int64_t start = now_;
  acquire("a");
  now_ = start + 1000;
  acquire("b");
  Events events = ledger_.events();
  EXPECT_EQ(events.last_before(start).value(), 0);
  EXPECT_EQ(events.last_before(start + 1).value(), 1);
  EXPECT_EQ(events.last_before(start + 5000).value(), 2);
  EXPECT_EQ(events.after(1, 10).value().size(), 1U);
  EXPECT_EQ(events.after(0, 1).value().front().number, 1);
  EXPECT_THAT(events.after(2, 10).value(), IsEmpty());
}

class HistoryTest : public EventsTest {
 protected:
  static constexpr int64_t kDay = 24 * 3600 * 1000;
  std::vector<std::string> containers() {
    std::vector<std::string> names;
    for (const Event& event : all()) names.push_back(event.container);
    return names;
  }
};

TEST_F(HistoryTest, ForgetsWhatEndedBeforeTheTimeOfTheConfiguration) {
  const Lease ended = acquire("ended");
  const Lease lives = acquire("lives");
  ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(record("p0"))));
  release(ended);
  now_ += 2 * kDay;
  Intent soon = intent("new");
  soon.history = std::chrono::hours(72);
  ASSERT_TRUE(test::succeeds(ledger_.acquire(soon)));
  EXPECT_TRUE(ledger_.find(ended.id).value().has_value());
  soon.history = std::chrono::hours(24);
  soon.container = "newer";
  ASSERT_TRUE(test::succeeds(ledger_.acquire(soon)));
  EXPECT_FALSE(ledger_.find(ended.id).value().has_value());
  EXPECT_THAT(containers(), ElementsAre("lives", "new", "newer"));
}

TEST_F(HistoryTest, NeverGivesANumberTwice) {
  const Lease ended = acquire("ended");
  release(ended);
  const int64_t last = ledger_.events().last().value();
  now_ += 30 * kDay;
  acquire("new");
  EXPECT_EQ(ledger_.events().last().value(), last + 1);
  EXPECT_EQ(all().front().number, last) << "the newest one stays";
  now_ += 1;
  acquire("newer");
  EXPECT_FALSE(ledger_.find(ended.id).value().has_value());
  EXPECT_EQ(all().front().number, last + 1);
}

TEST_F(HistoryTest, IsForgottenBitByBit) {
  for (int i = 0; i < 40; ++i) {
    now_ += 1;  // the oldest go first
    release(acquire(base::str("c", i)));
  }
  now_ += 30 * kDay;
  acquire("new");
  EXPECT_EQ(all().size(), 40U * 3 - 16 * 3 + 1);
  acquire("new");
  acquire("new");
  EXPECT_EQ(all().size(), 3U);
}

}  // namespace
}  // namespace hook::ledger
