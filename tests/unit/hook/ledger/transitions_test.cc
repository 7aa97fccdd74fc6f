// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/transitions.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "base/names.h"
#include "base/text.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using namespace base::names;

constexpr LeaseState kStates[] = {
    LeaseState::kIntent,     LeaseState::kAllocated, LeaseState::kRunning, LeaseState::kReleasing,
    LeaseState::kQuarantine, LeaseState::kFree,      LeaseState::kFailed};
// Those that the ledger makes of a lease when it is told to.
constexpr Change kChanges[] = {Change::kTakeWarm, Change::kAllocate, Change::kAttach,
                               Change::kRun,      Change::kRelocate, Change::kProhibit,
                               Change::kRelease,  Change::kHold};

TEST(Transitions, HaveNamesOfTheirOwn) {
  std::set<Change> changes;
  std::set<std::string_view> names;
  for (const Transition& row : transitions()) {
    changes.insert(row.change);
    names.insert(name_of(row.change));
    EXPECT_NE(row.because, "") << name_of(row.change);
  }
  EXPECT_EQ(names.size(), changes.size());
  EXPECT_FALSE(names.contains("?"));
  EXPECT_EQ(changes.size(), static_cast<size_t>(Change::kFail) + 1) << "a change is never possible";
}

TEST(Transitions, AreFoundByTheirChangeAndState) {
  std::set<std::tuple<Change, std::optional<LeaseState>>> seen;
  for (const Transition& row : transitions()) {
    EXPECT_TRUE(seen.emplace(row.change, row.from).second) << name_of(row.change);
    EXPECT_EQ(find_transition(row.change, row.from), &row);
  }
  EXPECT_EQ(find_transition(Change::kIntend, LeaseState::kIntent), nullptr);
  EXPECT_EQ(find_transition(Change::kRun, LeaseState::kIntent), nullptr);
  EXPECT_EQ(find_transition(Change::kRelease, std::nullopt), nullptr);
}

// The states that can be reached from STATE.
std::set<LeaseState> reachable(LeaseState state) {
  std::set<LeaseState> reached = {state};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const Transition& row : transitions()) {
      if (row.from && reached.contains(*row.from)) reached.insert(row.to);
    }
  }
  return reached;
}

TEST(Transitions, LeadFromEveryStateToAnEnd) {
  for (const LeaseState state : kStates) {
    const std::set<LeaseState> reached = reachable(state);
    EXPECT_TRUE(reached.contains(LeaseState::kFree) || reached.contains(LeaseState::kFailed))
        << name_of(state);
  }
}

TEST(Transitions, LeadFromNoEndBackToALiveLease) {
  for (const LeaseState state : kStates) {
    if (is_live(state)) continue;
    for (const LeaseState later : reachable(state)) EXPECT_FALSE(is_live(later)) << name_of(state);
  }
}

TEST(Transitions, CanReleaseALeaseInEveryLiveState) {
  for (const LeaseState state : kStates) {
    EXPECT_EQ(find_transition(Change::kRelease, state) != nullptr, is_live(state))
        << name_of(state);
  }
}

// A lease that nobody holds has ended, or can be released by anybody.
TEST(Transitions, LeaveNoLiveLeaseWithoutAHolderButOneThatIsBeingReleased) {
  for (const Transition& row : transitions()) {
    if (row.holder != Holder::kNobody) continue;
    EXPECT_TRUE(!is_live(row.to) || row.to == LeaseState::kReleasing) << name_of(row.change);
  }
}

// A real ledger, told to make each change in each state.
class LedgerTransitionsTest : public LedgerFixture {
 protected:
  // A lease in STATE.
  Lease lease_in(LeaseState state) {
    Lease lease = acquire(base::str("c", ++count_));
    if (state == LeaseState::kIntent) return lease;
    const bool has_address = state == LeaseState::kAllocated || state == LeaseState::kRunning ||
                             state == LeaseState::kQuarantine;
    if (has_address) must(ledger_.mark_allocated(lease, {}, {}, {{rail_, "roce0"}}));
    if (state == LeaseState::kRunning) must(ledger_.mark_running(lease, self_));
    if (state == LeaseState::kAllocated || state == LeaseState::kRunning) return lease;
    must(ledger_.begin_release(lease, self_, state == LeaseState::kFailed ? "broken" : ""));
    if (state != LeaseState::kReleasing) must(ledger_.finish_release(lease));
    return lease;
  }

  Status make(Change change, Lease& lease) {
    switch (change) {
      case Change::kTakeWarm:
        return take_warm(lease);
      case Change::kAllocate:
        return ledger_.mark_allocated(lease, {}, {}, {});
      case Change::kAttach:
        return ledger_.begin_attach(lease, self_, {{1, 2, 3}, 4, 5});
      case Change::kRun:
        return ledger_.mark_running(lease, self_);
      case Change::kRelocate:
        return ledger_.mark_relocated(lease, {});
      case Change::kProhibit:
        return ledger_.mark_prohibited(lease, {netns::parse_prefix("10.1.3.102/32").take()});
      case Change::kRelease:
        return ledger_.begin_release(lease, self_, "");
      case Change::kHold:
        return ledger_.note_obstacle(lease, "the controller is down");
      default:
        return base::Error(Code::kInternal, "made by finish_release() and by the clock");
    }
  }

  // Gives back what a lease of this test still holds, and waits for the addresses of those before.
  void end(Lease lease) {
    now_ += 2000;
    if (!is_live(lease.state)) return;
    if (lease.state != LeaseState::kReleasing) must(ledger_.begin_release(lease, self_, ""));
    must(ledger_.finish_release(lease));
  }
  static void must(const Status& done) { ASSERT_TRUE(test::succeeds(done)); }

  const base::ProcessId self_{4213, 101, 7};

 private:
  Status take_warm(Lease& lease) {
    PartitionRecord warm;
    warm.pool = lease.pool;
    warm.name = base::str("w-", count_);
    warm.source = lease.controller;
    warm.kind = PartitionKind::kWarm;
    warm.ipus = lease.ipus;
    TRY(ledger_.partitions().intend(warm));
    TRY(ledger_.partitions().mark_ready(warm));
    const Ledger::Taken taken = TRY(ledger_.take_warm(lease));
    EXPECT_EQ(taken, Ledger::Taken::kYes);
    return {};
  }

  int count_ = 0;
};

TEST_F(LedgerTransitionsTest, AreWhatTheLedgerDoes) {
  for (const LeaseState state : kStates) {
    for (const Change change : kChanges) {
      SCOPED_TRACE(base::str(name_of(change), " in ", name_of(state)));
      Lease lease = lease_in(state);
      ASSERT_EQ(lease.state, state);
      const Lease before = stored(lease);
      const Status made = make(change, lease);
      const Transition* const row = find_transition(change, state);
      if (row == nullptr) {
        EXPECT_TRUE(test::fails(made, Code::kInternal, name_of(change)));
        EXPECT_EQ(stored(lease).generation, before.generation);
      } else {
        EXPECT_TRUE(test::succeeds(made));
        EXPECT_EQ(stored(lease).state, row->to);
        EXPECT_EQ(stored(lease).generation, before.generation + 1);
      }
      end(std::move(lease));
    }
  }
}

TEST_F(LedgerTransitionsTest, SayWhoHoldsTheLease) {
  for (const Transition& row : transitions()) {
    if (!row.from ||
        std::find(std::begin(kChanges), std::end(kChanges), row.change) == std::end(kChanges)) {
      continue;
    }
    SCOPED_TRACE(base::str(name_of(row.change), " in ", name_of(*row.from)));
    Lease lease = lease_in(*row.from);
    const base::ProcessId before = lease.owner;
    must(make(row.change, lease));
    const base::ProcessId nobody;
    EXPECT_EQ(stored(lease).owner, row.holder == Holder::kSame     ? before
                                   : row.holder == Holder::kNobody ? nobody
                                                                   : self_);
    end(std::move(lease));
  }
}

TEST_F(LedgerTransitionsTest, EndALeaseOnlyOnceItIsBeingReleased) {
  for (const LeaseState state : kStates) {
    SCOPED_TRACE(name_of(state));
    Lease lease = lease_in(state);
    const Status ended = ledger_.finish_release(lease);
    if (state == LeaseState::kReleasing) {
      EXPECT_TRUE(test::succeeds(ended));
    } else {
      EXPECT_TRUE(test::fails(ended, Code::kInternal, name_of(state)));
      EXPECT_EQ(stored(lease).state, state);
    }
    end(std::move(lease));
  }
}

TEST_F(LedgerTransitionsTest, EndAQuarantineByTheClock) {
  const Lease lease = lease_in(LeaseState::kQuarantine);
  now_ = lease.quarantine_until_ms - 1;
  EXPECT_EQ(stored(lease).state, LeaseState::kQuarantine);
  now_ = lease.quarantine_until_ms;
  EXPECT_EQ(stored(lease).state, find_transition(Change::kFree, LeaseState::kQuarantine)->to);
}

}  // namespace
}  // namespace hook::ledger
