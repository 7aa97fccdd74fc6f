// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/queue_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

class TurnTest : public testing::Test {
 protected:
  static Deadline soon() { return test::HookHost::soon(); }

  // Somebody who waits: a process that runs, unless it is said.
  int64_t enter(const std::string& container, uint32_t ipus, const std::string& resource = "pod16",
                const base::ProcessId& owner = base::identify_process(1).take()) {
    ledger::Waiter waiter;
    waiter.resource = resource;
    waiter.container = container;
    waiter.ipus = ipus;
    waiter.owner = owner;
    waiter.boot_id = base::boot_id().take();
    waiter.until_ms = base::unix_millis() + 3'600'000;
    return host_.ledger.queue().enter(waiter).take();
  }
  base::Result<Turn> await(milliseconds time, uint32_t max_waiters = 64) {
    return Turn::await(host_.env, {"pod16", "web", 4, time, max_waiters}, Deadline::after(time));
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const ledger::Waiter& waiter : waiting(host_.env).take())
      names.push_back(waiter.container);
    return names;
  }

  test::HookHost host_;
};

TEST_F(TurnTest, ComesAtOnceWhereNobodyWaits) {
  EXPECT_TRUE(test::succeeds(await(milliseconds(0))));
  const base::Result<Turn> turn = await(milliseconds(60'000));
  EXPECT_TRUE(test::succeeds(turn));
  EXPECT_THAT(names(), IsEmpty()) << "others need not stand behind one that has what it wants";
}

TEST_F(TurnTest, HasNoPlaceOnAHostThatIsDrained) {
  Turn turn = await(milliseconds(60'000)).take();
  ASSERT_TRUE(test::succeeds(host_.ledger.drain().begin("")));
  EXPECT_TRUE(test::fails(turn.join(soon()), Code::kDenied, "drained"));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(TurnTest, HasAPlaceInTheQueueFromJoiningToItsEnd) {
  {
    Turn turn = await(milliseconds(60'000)).take();
    ASSERT_TRUE(test::succeeds(turn.join(soon())));
    ASSERT_TRUE(test::succeeds(turn.join(soon())));
    EXPECT_THAT(names(), ElementsAre("web"));
    turn.end();
    EXPECT_THAT(names(), IsEmpty());
    ASSERT_TRUE(test::succeeds(turn.join(soon())));
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(TurnTest, ServesAGuaranteedShareBeforeThoseWhoBorrow) {
  const std::vector<config::TenantConfig> tenants = {{"a", 4, 8}, {"b", 0, 8}};
  ledger::Waiter borrower;
  borrower.resource = "pod16";
  borrower.container = "borrower";
  borrower.tenant = "b";
  borrower.ipus = 8;
  borrower.owner = base::identify_process(1).take();
  borrower.boot_id = base::boot_id().take();
  borrower.since_ms = base::unix_millis();
  ASSERT_TRUE(test::succeeds(host_.ledger.queue().enter(borrower)));
  const auto comes = [&](const std::string& tenant, uint32_t ipus) {
    WaitFor what{"pod16", "web", ipus};
    what.tenant = tenant;
    what.tenants = &tenants;
    return Turn::await(host_.env, what, Deadline::after(milliseconds(0)));
  };
  EXPECT_TRUE(test::succeeds(comes("a", 4)));
  EXPECT_TRUE(test::fails(comes("a", 8), Code::kBusy, "others wait for 'pod16' already"));
  EXPECT_TRUE(test::fails(comes("b", 1), Code::kBusy, "others wait for 'pod16' already"));
}

TEST_F(TurnTest, EndsForAWaiterWhosePlaceIsTakenAway) {
  enter("first", 4);
  std::thread operator_([this] {
    ledger::Ledger own = ledger::Ledger::open(host_.dir / "state/ledger.db").take();
    for (int i = 0; i < 500; ++i) {
      for (const ledger::Waiter& waiter : own.queue().list().take()) {
        if (waiter.container == "web") return (void)own.queue().leave(waiter.ticket);
      }
      std::this_thread::sleep_for(milliseconds(10));
    }
  });
  const base::Result<Turn> turn = await(milliseconds(60'000));
  operator_.join();
  EXPECT_TRUE(test::fails(turn, Code::kBusy, "cancelled"));
  EXPECT_THAT(names(), ElementsAre("first"));
}

TEST_F(TurnTest, IsNotTakenFromThoseWhoWaitByOneWhoDoesNot) {
  enter("large", 16);
  EXPECT_TRUE(test::fails(await(milliseconds(0)), Code::kBusy,
                          "others wait for 'pod16' already (1 request is ahead, the first for 16 "
                          "IPUs by container large); queue behind them with IPU_WAIT=60s"));
}

TEST_F(TurnTest, ComesInOrderOfArrival) {
  const int64_t first = enter("first", 16);
  EXPECT_TRUE(test::fails(await(milliseconds(1)), Code::kBusy, "1 request is ahead"));
  EXPECT_THAT(names(), ElementsAre("first"));
  ASSERT_TRUE(test::succeeds(host_.ledger.queue().leave(first)));
  EXPECT_TRUE(test::succeeds(await(milliseconds(1))));
}

TEST_F(TurnTest, ComesWhenTheOneAheadGoes) {
  const int64_t first = enter("first", 16);
  std::thread leaver([&] {
    ledger::Ledger other = ledger::Ledger::open(host_.dir / "state/ledger.db").take();
    const Deadline patience = soon();
    while (other.queue().list().take().size() < 2 && !patience.passed()) {
      base::sleep_for(milliseconds(1), patience);
    }
    (void)other.queue().leave(first);
  });
  EXPECT_TRUE(test::succeeds(await(milliseconds(20'000))));
  leaver.join();
}

TEST_F(TurnTest, PassesOverTheDeadAndOtherResources) {
  enter("dead", 16, "pod16", test::dead_process());
  enter("elsewhere", 16, "pod64");
  enter("partition", 16, "pod16/p0");
  EXPECT_TRUE(test::succeeds(await(milliseconds(0))));
  EXPECT_THAT(names(), ElementsAre("elsewhere", "partition"));
}

TEST_F(TurnTest, IsRefusedAtOnceWhereTheQueueIsFull) {
  enter("first", 4);
  enter("elsewhere", 4, "pod64");
  EXPECT_TRUE(test::fails(await(milliseconds(60'000), 2), Code::kBusy,
                          "no place in the queue: 2 requests wait on this host, and"
                          " policy.max_waiters allows no more"));
  EXPECT_THAT(names(), ElementsAre("first", "elsewhere"));
  EXPECT_TRUE(test::fails(await(milliseconds(1), 3), Code::kBusy, "1 request is ahead"));
}

TEST_F(TurnTest, NeedsNoPlaceWhereNobodyWaits) {
  EXPECT_TRUE(test::succeeds(await(milliseconds(60'000), 0)));
  base::Result<Turn> turn = await(milliseconds(60'000), 0);
  EXPECT_TRUE(test::fails(turn.value().join(soon()), Code::kBusy, "no place in the queue: 0"));
}

TEST_F(TurnTest, HasThePlaceOfOneThatIsDead) {
  enter("dead", 4, "pod64", test::dead_process());
  EXPECT_TRUE(test::succeeds(await(milliseconds(1), 1)));
  enter("first", 4);
  enter("dead", 4, "pod64", test::dead_process());
  EXPECT_TRUE(test::fails(await(milliseconds(1), 2), Code::kBusy, "1 request is ahead"));
}

TEST_F(TurnTest, PassesOverOneThatCannotBeLookedAtWhenItsTimeIsOver) {
  ledger::Waiter waiter;
  waiter.resource = "pod16";
  waiter.owner = {1, 1, 1};  // of another pid namespace
  waiter.boot_id = base::boot_id().take();
  waiter.until_ms = base::unix_millis() - 59'000;
  ASSERT_TRUE(host_.ledger.queue().enter(waiter).ok());
  EXPECT_FALSE(await(milliseconds(0)).ok());
  waiter.until_ms -= 2'000;
  ASSERT_TRUE(host_.ledger.queue().leave(1).ok());
  ASSERT_TRUE(host_.ledger.queue().enter(waiter).ok());
  EXPECT_TRUE(test::succeeds(await(milliseconds(0))));
}

// Somebody has set the clock. The waiter measures its time otherwise, and leaves by itself.
TEST_F(TurnTest, KeepsARunningWaiterWhoseTimeIsOverByTheClock) {
  ledger::Waiter waiter;
  waiter.resource = "pod16";
  waiter.container = "early";
  waiter.owner = base::identify_process(1).take();
  waiter.boot_id = base::boot_id().take();
  waiter.until_ms = base::unix_millis() - 3'600'000;
  ASSERT_TRUE(host_.ledger.queue().enter(waiter).ok());
  EXPECT_FALSE(await(milliseconds(0)).ok());
  EXPECT_THAT(names(), ElementsAre("early"));
}

TEST_F(TurnTest, PassesOverThoseOfAnEarlierBoot) {
  ledger::Waiter waiter;
  waiter.resource = "pod16";
  waiter.owner = base::identify_process(1).take();
  waiter.boot_id = "another";
  waiter.until_ms = base::unix_millis() + 3'600'000;
  ASSERT_TRUE(host_.ledger.queue().enter(waiter).ok());
  EXPECT_TRUE(test::succeeds(await(milliseconds(0))));
}

TEST_F(TurnTest, KeepsASmallRequestFromOvertakingALargeOne) {
  host_.start("holder", 8);
  enter("large", 16);
  request::Request small;
  small.ipus = 1;
  EXPECT_TRUE(test::fails(host_.prepare("small", small), Code::kBusy, "others wait"));
  small.wait = milliseconds(30);
  EXPECT_TRUE(test::fails(host_.prepare("small", small), Code::kBusy, "waited 0 s for 1 IPUs"));
  EXPECT_EQ(host_.live_leases(), 1U);
}

TEST_F(TurnTest, IsOverBeforeThePartitionIsActive) {
  const vipu::PartitionRequest blocker{"of-others", 16};
  ASSERT_TRUE(host_.controller.create(blocker, soon()).ok());
  std::vector<std::vector<std::string>> queues;
  host_.before_create = [&] {
    queues.push_back(names());
    if (queues.size() == 2) {
      (void)host_.controller.remove("of-others", vipu::Force::kYes, soon());
      host_.controller.set_create_delay(std::chrono::hours(1));  // never ACTIVE
    }
  };
  host_.config.pools[0].timeout = milliseconds(300);
  request::Request request;
  request.ipus = 4;
  request.wait = milliseconds(60'000);
  EXPECT_TRUE(test::fails(host_.prepare("web", request), Code::kTimeout));
  EXPECT_THAT(queues, ElementsAre(IsEmpty(), ElementsAre("web")));
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_THAT(host_.partitions(), IsEmpty());
}

TEST_F(TurnTest, IsOverWhenTheContainerHasItsIpus) {
  request::Request request;
  request.ipus = 4;
  request.wait = milliseconds(60'000);
  ASSERT_TRUE(test::succeeds(host_.prepare("web", request)));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(TurnTest, OfAPartitionThatIsInUseComesWhenItIsFree) {
  partitions::NewPartition wanted{host_.config.pools[0], {"p0", 4}};
  ASSERT_TRUE(test::succeeds(partitions::create_partition(host_.env, wanted, soon())));
  request::Request request;
  request.partition = "p0";
  ASSERT_TRUE(test::succeeds(host_.prepare("first", request)));
  const std::string lease = host_.lease_of("first").id;
  std::thread stopper([&] {
    ledger::Ledger other = ledger::Ledger::open(host_.dir / "state/ledger.db").take();
    const Deadline patience = soon();
    while (other.queue().list().take().empty() && !patience.passed()) {
      base::sleep_for(milliseconds(1), patience);
    }
    ledger::Lease first = other.find(lease).take().value();
    (void)other.begin_release(first, base::current_process().take(), "");
    (void)other.finish_release(first);
  });
  request.wait = milliseconds(20'000);
  EXPECT_TRUE(test::succeeds(host_.prepare("second", request)));
  stopper.join();
}

// Sixteen processes that each take their turn; one after the other, in the order of their tickets.
TEST_F(TurnTest, BelongsToOneProcessAtATime) {
  const std::string log = host_.dir / "log";
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ledger::Ledger ledger = ledger::Ledger::open(host_.dir / "state/ledger.db").take();
      const Env& env = host_.env;
      Env own{ledger,           env.controller,  env.security,
              env.start_refill, env.start_probe, env.start_reconcile,
              env.host,         env.run_dir,     env.hook_program,
              env.sysfs};
      base::Result<Turn> turn = Turn::await(own, {"pod16", "web", 4, milliseconds(30'000)}, soon());
      if (!turn.ok() || !turn.value().join(soon()).ok()) ::_exit(1);
      const base::Fd file =
          base::open_at(AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600).take();
      (void)base::write_all(file.get(), "in ", "log");
      (void)base::write_all(file.get(), "out ", "log");
      turn.value().end();
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::string expected;
  for (int i = 0; i < 16; ++i) expected += "in out ";
  EXPECT_EQ(base::read_file(log, 65536).take(), expected);
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace hook::lifecycle
