// SPDX-License-Identifier: Apache-2.0
// A store that goes back to an older state, as a restored snapshot of etcd does.
#include "hook/fleet/marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/names.h"
#include "hook/fleet/copy.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/restored.h"
#include "hook/fleet/warm.h"
#include "tests/support/fake_store.h"
#include "tests/support/lent_store.h"
#include "tests/support/outcome.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

// What a host has in its ledger.
struct MarkingHost {
  std::string tag;
  Mark mark = {tag, 0, 0};
};

class MarksTest : public testing::Test {
 protected:
  void SetUp() override {
    id_ = join_fleet(store_, kPrefix, soon()).take();
    live(a_);
    live(b_);
    PartitionView view;
    view.name = kName;
    view.facts = {a_.tag, "10.1.0.9:8090", 8, 4};
    ASSERT_TRUE(test::succeeds(publish(of(a_), view)));
  }
  static Deadline soon() { return Deadline::after(milliseconds(2000)); }
  Fleet of(const MarkingHost& host) { return {store_, kPrefix, soon(), id_, host.mark}; }
  // HOST beats, and marks the store. Returns whether it found that the store has gone back.
  bool live(MarkingHost& host) {
    const Result<Marked> marked = mark_store(of(host));
    EXPECT_TRUE(test::succeeds(marked));
    if (!marked.ok()) return false;
    host.mark = marked.value().mark;
    EXPECT_TRUE(test::succeeds(
        beat(store_, kPrefix, {host.tag, host.tag, host.tag, "1.0", "boot"}, 1, soon())));
    return marked.value().has_gone_back;
  }
  Status use(const MarkingHost& host, const std::string& id, uint32_t gcd) {
    const Result<ClaimDuty> duty = claim(of(host), kName, {id, host.tag, id, "", gcd, 1, true}, {});
    return duty.ok() ? Status() : Status(duty.error());
  }
  Status tell(const MarkingHost& host) {
    return has_told(of(host), host.tag, asked_to_tell(of(host), host.tag).take());
  }
  std::vector<std::string> untold() { return untold_hosts(of(a_)).take(); }
  std::vector<std::string> keys(const std::string& below) {
    std::vector<std::string> names;
    for (const KeyValue& one : store_.list(kPrefix + below, soon()).take().keys)
      names.push_back(one.key.substr(kPrefix.size()));
    return names;
  }

  const std::string kPrefix = "/f/";
  const PartitionName kName{"pod16", "p0"};
  std::string id_;
  test::FakeStore store_;
  MarkingHost a_{"aaaaaaaa"};
  MarkingHost b_{"bbbbbbbb"};
};

TEST_F(MarksTest, AStoreThatGoesOnIsChanged) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(live(a_));
    EXPECT_TRUE(test::succeeds(use(a_, str("lease", i), static_cast<uint32_t>(i))));
    EXPECT_TRUE(test::succeeds(check_history(of(a_))));
  }
  EXPECT_THAT(untold(), IsEmpty());
  // A host that never marked it knows nothing of its past.
  EXPECT_TRUE(test::succeeds(use({"cccccccc"}, "other", 3)));
}

TEST_F(MarksTest, NothingIsClaimedAgainThatTheStoreHasForgotten) {
  const test::FakeStore snapshot = store_;
  live(a_);
  live(b_);
  ASSERT_TRUE(test::succeeds(use(b_, "two", 1)));
  store_ = snapshot;
  EXPECT_TRUE(test::fails(use(a_, "three", 1), Code::kDenied, "has gone back to an older state"));
  EXPECT_TRUE(test::fails(check_history(of(a_)), Code::kDenied, "run 'ipuctl gc' on each host"));
  Grant grant{"pod16", "lease", a_.tag, "container", "", "", "", 4};
  EXPECT_TRUE(test::fails(grant_at_once(of(a_), {"pod16"}, grant), Code::kDenied, "gone back"));
  EXPECT_THAT(keys("grants/"), IsEmpty());
  // One host finds it, and asks all: the other one did not look yet.
  EXPECT_TRUE(live(a_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag));
  ASSERT_TRUE(test::succeeds(tell(a_)));
  EXPECT_TRUE(test::fails(use(a_, "three", 1), Code::kBusy, "host bbbbbbbb has not told"));
  // The other finds it too, and does not ask again.
  EXPECT_TRUE(live(b_));
  EXPECT_THAT(untold(), ElementsAre(b_.tag));
  ASSERT_TRUE(test::succeeds(claim_running(of(b_), kName, {"two", b_.tag, "two", "", 1, 1, true})));
  ASSERT_TRUE(test::succeeds(tell(b_)));
  EXPECT_TRUE(test::fails(use(a_, "three", 1), Code::kBusy, "container two"));
  EXPECT_FALSE(live(a_));
  EXPECT_FALSE(live(b_));
  EXPECT_THAT(untold(), IsEmpty());
}

// What is written after the restore does not hide it.
TEST_F(MarksTest, AStoreThatHasGrownSinceIsFoundOut) {
  const test::FakeStore snapshot = store_;
  live(a_);
  store_ = snapshot;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(join_fleet(store_, str("/g", i, "/"), soon()).ok());
  EXPECT_GT(store_.list(kPrefix, soon()).take().revision, a_.mark.revision);
  EXPECT_TRUE(live(a_));
}

TEST_F(MarksTest, EachTimeIsFoundOut) {
  const test::FakeStore first = store_;
  live(a_);
  store_ = first;
  ASSERT_TRUE(live(a_));
  ASSERT_TRUE(test::succeeds(tell(a_)));
  EXPECT_TRUE(live(b_)) << "its mark is not newer, and it says so, too";
  EXPECT_FALSE(live(b_));
  ASSERT_TRUE(test::succeeds(tell(b_)));
  const test::FakeStore second = store_;
  live(a_);
  live(b_);
  store_ = second;
  EXPECT_TRUE(live(b_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag));
  ASSERT_TRUE(test::succeeds(tell(b_)));
  // Further back, before the first time was told.
  store_ = first;
  EXPECT_TRUE(live(b_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag));
}

// Without ipu-agent a host marks the store and never beats.
TEST_F(MarksTest, AHostThatNeverBeatIsAskedToo) {
  MarkingHost quiet{"cccccccc"};
  quiet.mark = mark_store(of(quiet)).take().mark;
  const test::FakeStore snapshot = store_;
  live(a_);
  store_ = snapshot;
  EXPECT_TRUE(live(a_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag, quiet.tag));
}

TEST_F(MarksTest, AHostThatJoinedSinceAsksForItself) {
  const test::FakeStore snapshot = store_;
  MarkingHost late{"cccccccc"};
  live(a_);
  live(late);
  store_ = snapshot;
  EXPECT_TRUE(live(a_));
  ASSERT_TRUE(test::succeeds(tell(a_)));
  EXPECT_TRUE(live(late)) << "nobody knew it, so nobody asked it";
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag, late.tag));
}

// A snapshot of a moment in which hosts were still asked, by an import or because it had gone back.
TEST_F(MarksTest, AQuestionThatWasEndedSinceIsAskedAgain) {
  const Copy copy = read_copy(store_, kPrefix, 1, soon()).take();
  store_.advance(std::chrono::seconds(31));
  ASSERT_TRUE(
      test::succeeds(write_copy(store_, kPrefix, copy, Replace::kYes, OldFences::kRefuse, soon())));
  live(b_);
  ASSERT_TRUE(test::succeeds(tell(b_)));
  const test::FakeStore asked_by_import = store_;
  live(a_);
  ASSERT_TRUE(test::succeeds(tell(a_)));
  ASSERT_TRUE(test::succeeds(use(b_, "two", 1)));
  store_ = asked_by_import;
  EXPECT_TRUE(live(a_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag));
  ASSERT_TRUE(test::succeeds(tell(a_)));
  EXPECT_TRUE(test::fails(use(a_, "three", 1), Code::kBusy, "host bbbbbbbb has not told"));
}

// By what it has alone, such as one of an earlier release without ipu-agent.
TEST_F(MarksTest, AHostThatHasAClaimIsAskedToo) {
  ASSERT_TRUE(test::succeeds(use({"cccccccc"}, "old", 0)));
  const test::FakeStore snapshot = store_;
  live(a_);
  store_ = snapshot;
  EXPECT_TRUE(live(a_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag, "cccccccc"));
}

// Nobody could tell for it.
TEST_F(MarksTest, AKeyThatNamesNoHostAsksNobody) {
  Txn odd;
  odd.puts = {{"/f/hosts/foo", "{}"}, {"/f/marks/x", ""}, {"/f/hosts/aaaaaaaa/more", "{}"}};
  ASSERT_TRUE(test::succeeds(store_.commit(odd, soon())));
  const test::FakeStore snapshot = store_;
  live(a_);
  store_ = snapshot;
  EXPECT_TRUE(live(a_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag));
}

// A container may have taken an idle partition since, and may have used one that was clean.
TEST_F(MarksTest, WhatWasIdleIsForgottenAndWhatWasCleanIsReset) {
  Warm warm{{"pod16", "10.1.0.9:8090", "", "", 4}, "f-00112233-0123456789ab", a_.tag};
  warm.changer = a_.tag;
  ASSERT_TRUE(begin_warm(of(a_), warm, 1).take());
  const test::FakeStore snapshot = store_;
  live(a_);
  store_ = snapshot;
  EXPECT_FALSE(find_partition(of(a_), kName).take()->dirty);
  ASSERT_TRUE(live(a_));
  EXPECT_THAT(keys("warm/"), IsEmpty());
  EXPECT_TRUE(find_partition(of(a_), kName).take()->dirty);
}

TEST_F(MarksTest, WhatIsCutShortIsDoneAgain) {
  const test::FakeStore snapshot = store_;
  live(a_);
  for (const test::Call fate : {test::Call::kFails, test::Call::kAnswerIsLost}) {
    int cut = 0;
    for (; cut < 100; ++cut) {
      store_ = snapshot;
      int calls = 0;
      test::LentStore cutting(store_,
                              [&] { return calls++ == cut ? fate : test::Call::kAnswered; });
      const Result<Marked> marked = mark_store({cutting, kPrefix, soon(), id_, a_.mark});
      if (marked.ok()) break;
      EXPECT_FALSE(use(a_, "three", 1).ok()) << cut;
      const Result<Marked> again = mark_store(of(a_));
      ASSERT_TRUE(test::succeeds(again)) << cut;
      EXPECT_TRUE(again.value().has_gone_back) << cut;
      EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag)) << cut;
    }
    EXPECT_GT(cut, 5);
  }
}

// An import asks all hosts itself, and may be into an etcd that has hardly begun to count.
TEST_F(MarksTest, AnImportIsNoStepBack) {
  for (int i = 0; i < 20; ++i) live(a_);
  const Copy copy = read_copy(store_, kPrefix, 1, soon()).take();
  for (const KeyValue& one : copy.keys) EXPECT_FALSE(one.key.starts_with("marks/")) << one.key;
  store_ = test::FakeStore();
  ASSERT_TRUE(
      test::succeeds(write_copy(store_, kPrefix, copy, Replace::kNo, OldFences::kRefuse, soon())));
  const Grant grant{"pod16", "lease", a_.tag, "container", "", "", "", 4};
  EXPECT_TRUE(test::fails(grant_at_once(of(a_), {"pod16"}, grant), Code::kDenied, "gone back"));
  EXPECT_TRUE(test::fails(use(a_, "three", 1), Code::kBusy, "has not told"));
  EXPECT_FALSE(live(a_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag));
  EXPECT_TRUE(test::fails(use(a_, "three", 1), Code::kBusy, "has not told"));
  EXPECT_TRUE(grant_at_once(of(a_), {"pod16"}, grant).take());
}

TEST_F(MarksTest, AFencedHostMarksNothingAndIsNotAsked) {
  store_.advance(std::chrono::seconds(31));
  ASSERT_TRUE(test::succeeds(fence(of(a_), b_.tag, a_.tag, 1)));
  EXPECT_TRUE(test::fails(mark_store(of(b_)), Code::kDenied, "was declared dead"));
  const test::FakeStore snapshot = store_;
  live(a_);
  store_ = snapshot;
  ASSERT_TRUE(live(a_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag));
  // It is forgotten, and comes back.
  ASSERT_TRUE(test::succeeds(tell(a_)));
  ASSERT_TRUE(test::succeeds(forget_host(store_, kPrefix, b_.tag, soon())));
  ASSERT_TRUE(forget_fence(of(a_), b_.tag).take());
  EXPECT_TRUE(test::succeeds(check_history(of(b_))));
  const test::FakeStore without = store_;
  live(a_);
  store_ = without;
  ASSERT_TRUE(live(a_));
  EXPECT_THAT(untold(), ElementsAre(a_.tag)) << "who is forgotten is not asked";
  EXPECT_TRUE(live(b_)) << "it says what others found";
  EXPECT_FALSE(live(b_));
}

// Its disk is full. If it told, each beat of it would ask all hosts again.
TEST_F(MarksTest, AHostThatCannotRememberItsMarkDoesNotTell) {
  const test::FakeStore before = store_;
  for (int i = 0; i < 10; ++i) live(a_);
  store_ = before;
  const MarkingHost known = a_;
  EXPECT_TRUE(live(a_));
  a_ = known;  // the ledger could not keep the mark
  EXPECT_TRUE(test::succeeds(tell(a_)));
  EXPECT_THAT(untold(), ElementsAre(a_.tag, b_.tag));
  EXPECT_TRUE(live(a_));
  EXPECT_EQ(a_.mark.restores, 1) << "it is said once";
  EXPECT_TRUE(test::succeeds(tell(a_)));
  EXPECT_THAT(untold(), ElementsAre(b_.tag));
}

TEST_F(MarksTest, AWordThatNoImportWritesIsNone) {
  Txn txn;
  txn.puts = {{kPrefix + "marks/import", "some word"}};
  ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  live(a_);
  EXPECT_EQ(a_.mark.import, "");
  txn.puts = {import_mark(kPrefix, "0123456789abcdef")};
  ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  live(a_);
  EXPECT_EQ(a_.mark.import, "0123456789abcdef");
}

}  // namespace
}  // namespace hook::fleet
