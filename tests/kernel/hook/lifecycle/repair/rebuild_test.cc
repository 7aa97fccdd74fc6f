// SPDX-License-Identifier: Apache-2.0
// A ledger that is rebuilt from what is left.
#include "tests/kernel/hook/lifecycle/repair/rebuild_fixture.h"

namespace hook::lifecycle::repair {
namespace {

class RebuildTest : public RebuildFixture {};

TEST_F(RebuildTest, RefusesALedgerThatIsWhole) {
  EXPECT_TRUE(
      test::fails(rebuild_ledger(rebuild(), test::HookHost::soon()), Code::kInvalid, "is intact"));
}

TEST_F(RebuildTest, FindsContainersThatRunByTheirRecords) {
  const Lease web = run("web", init_);
  const Lease job = run("job", other_, 2);
  destroy();
  const Rebuilt done = rebuilt();
  EXPECT_EQ(done.running.size(), 2U);
  EXPECT_THAT(done.ended, IsEmpty());
  EXPECT_THAT(done.set_aside, HasSubstr("ledger.db.damaged-"));
  Ledger ledger = Ledger::open(path()).take();
  const Lease found = ledger.find(web.id).take().value();
  EXPECT_EQ(found.state, LeaseState::kRunning);
  EXPECT_EQ(found.rails, web.rails);
  EXPECT_EQ(found.devices, web.devices);
  EXPECT_EQ(found.owner, web.owner);
  EXPECT_EQ(found.netns, web.netns);
  expect_clean(ledger);
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));

  lifecycle::Env env = env_of(ledger);
  EXPECT_TRUE(test::succeeds(lifecycle::end::release_by_id(env, web.id, test::HookHost::soon())));
  EXPECT_TRUE(test::succeeds(lifecycle::end::release_by_id(env, job.id, test::HookHost::soon())));
  EXPECT_THAT(init_.interfaces(), testing::Not(HasSubstr("roce0:")));
  EXPECT_THAT(host_.partitions(), IsEmpty());
  EXPECT_THAT(host_.lease_directories(), IsEmpty());
  expect_clean(ledger);
}

TEST_F(RebuildTest, GoesOnWithTheAuditLog) {
  const Lease web = run("web", init_);
  const ledger::AuditReport before = audit();
  destroy();
  rebuilt();
  const ledger::AuditReport after = audit();
  EXPECT_EQ(after.lines, before.lines + 1) << "no line twice, and one that says so";
  EXPECT_GT(after.last.number, before.last.number);
  Ledger ledger = Ledger::open(path()).take();
  lifecycle::Env env = env_of(ledger);
  EXPECT_TRUE(test::succeeds(lifecycle::end::release_by_id(env, web.id, test::HookHost::soon())));
  EXPECT_GT(audit().lines, after.lines);
}

TEST_F(RebuildTest, KeepsTheHistoryThatCanBeRead) {
  run("web", init_);
  const std::vector<ledger::Event> before = host_.env.ledger.events().after(0, 100).take();
  const ledger::AuditReport lines = audit();
  rebuilt(by_force());
  Ledger ledger = Ledger::open(path()).take();
  const std::vector<ledger::Event> after = ledger.events().after(0, 100).take();
  ASSERT_EQ(after.size(), before.size() + 1);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].number, before[i].number);
    EXPECT_EQ(after[i].text, before[i].text);
  }
  EXPECT_EQ(after.back().text, "the ledger was rebuilt: 1 running, 0 to be released");
  EXPECT_THAT(after.back().details, HasSubstr("\"uid\":"));
  EXPECT_EQ(audit().lines, lines.lines + 1);
}

TEST_F(RebuildTest, LeavesAContainerAloneWhoseFirstProcessAloneEnded) {
  Lease web = run("web", init_);
  web.owner = test::dead_process();
  web.state_dir = host_.dir / "runc/web";
  ASSERT_TRUE(test::succeeds(inject::write_lease_record(host_.env.run_dir, web)));
  ASSERT_TRUE(test::succeeds(base::ensure_dir(web.state_dir, 0700)));
  const base::ProcessId init = base::identify_process(init_.pid()).take();
  const std::string state = base::str(R"({"init_process_pid":)", init.pid,
                                      R"(,"init_process_start":)", init.start_time, "}");
  ASSERT_TRUE(test::succeeds(base::write_atomic(web.state_dir + "/state.json", state, {})));
  destroy();
  const Rebuilt done = rebuilt();
  ASSERT_EQ(done.running.size(), 1U);
  EXPECT_EQ(done.running[0].owner, init);
}

TEST_F(RebuildTest, FinishesOneThatWasKilledBeforeItsLastStep) {
  const Lease web = run("web", init_);
  const std::string scratch = host_.dir / "state/rebuild";
  rebuilt(by_force());
  ASSERT_TRUE(test::succeeds(base::ensure_dir(scratch, 0700)));
  ASSERT_EQ(::rename(path().c_str(), (scratch + "/ledger.db").c_str()), 0);
  ASSERT_TRUE(test::succeeds(base::write_atomic(path() + "-wal", "of the old one", {})));
  EXPECT_THAT(rebuilt().notes, testing::ElementsAre("an interrupted rebuild was completed"));
  EXPECT_NE(::access(scratch.c_str(), F_OK), 0);
  Ledger ledger = Ledger::open(path()).take();
  EXPECT_EQ(ledger.find(web.id).take().value().state, LeaseState::kRunning);
  expect_clean(ledger);
}

TEST_F(RebuildTest, LeavesNothingWhereItWasKilled) {
  const std::string scratch = host_.dir / "state/rebuild";
  ASSERT_TRUE(test::succeeds(base::ensure_dir(scratch, 0700)));
  ASSERT_TRUE(test::succeeds(base::write_atomic(scratch + "/ledger.db", "half", {})));
  ASSERT_TRUE(test::succeeds(ledger::Rebuilder::remove_remains(path())));
  EXPECT_NE(::access(scratch.c_str(), F_OK), 0);
  EXPECT_THAT(ledger::check_ledger(path()).take(), IsEmpty());
}

TEST_F(RebuildTest, BelievesTheEngineOfAnotherFirstProcess) {
  Lease web = run("web", init_);
  web.owner = test::dead_process();
  ASSERT_TRUE(test::succeeds(inject::write_lease_record(host_.env.run_dir, web)));
  const std::string bundle =
      host_.dir / "engines/containerd/io.containerd.runtime.v2.task/moby/web";
  ASSERT_TRUE(test::succeeds(base::ensure_dir(bundle, 0700)));
  const std::string config =
      base::str(R"({"annotations":{"graphcore.ai/ipu.lease":")", web.id, R"("}})");
  ASSERT_TRUE(test::succeeds(base::write_atomic(bundle + "/config.json", config, {})));
  ASSERT_TRUE(test::succeeds(base::write_atomic(bundle + "/init.pid", base::str(init_.pid()), {})));
  destroy();
  const Rebuilt done = rebuilt();
  ASSERT_EQ(done.running.size(), 1U);
  EXPECT_EQ(done.running[0].owner.pid, init_.pid());
  Ledger ledger = Ledger::open(path()).take();
  expect_clean(ledger);
}

TEST_F(RebuildTest, NamesContainersOfWhichNothingIsKnown) {
  const std::string runc = host_.dir / "engines/runc/stray";
  const std::string crun = host_.dir / "engines/crun/other";
  ASSERT_TRUE(test::succeeds(base::ensure_dir(runc, 0700)));
  ASSERT_TRUE(test::succeeds(base::ensure_dir(crun, 0700)));
  const std::string state =
      base::str(R"({"id":"stray","init_process_pid":)", init_.pid(),
                R"(,"config":{"labels":["bundle=/b","graphcore.ai/ipu.lease=)",
                "0123456789abcdef0123456789abcdef", R"("]}})");
  ASSERT_TRUE(test::succeeds(base::write_atomic(runc + "/state.json", state, {})));
  const std::string config =
      R"({"annotations":{"graphcore.ai/ipu.lease":"abcdef0123456789abcdef0123456789"}})";
  ASSERT_TRUE(test::succeeds(base::write_atomic(crun + "/config.json", config, {})));
  const std::string status = base::str(R"({"pid":)", init_.pid(), R"(,"bundle":"/b"})");
  ASSERT_TRUE(test::succeeds(base::write_atomic(crun + "/status", status, {})));
  destroy();
  EXPECT_TRUE(test::fails(rebuild_ledger(rebuild(), test::HookHost::soon()), Code::kBusy,
                          "other containers would get its IPUs and addresses; stop the container"));
  EXPECT_THAT(rebuilt(by_force()).notes,
              testing::UnorderedElementsAre(
                  HasSubstr("container stray runs with the unknown lease 0123456789ab"),
                  HasSubstr("container other runs with the unknown lease abcdef012345")));
}

// The partition of one that only its engine knows is not taken for a leftover.
TEST_F(RebuildTest, ClaimsNoPartitionOfAContainerThatRuns) {
  const Lease web = run("web", init_);
  ASSERT_TRUE(test::succeeds(inject::remove_lease_files(host_.env.run_dir, web.id)));
  const std::string crun = host_.dir / "engines/crun/web";
  ASSERT_TRUE(test::succeeds(base::ensure_dir(crun, 0700)));
  const std::string config =
      base::str(R"({"annotations":{"graphcore.ai/ipu.lease":")", web.id, R"("}})");
  ASSERT_TRUE(test::succeeds(base::write_atomic(crun + "/config.json", config, {})));
  const std::string status = base::str(R"({"pid":)", init_.pid(), "}");
  ASSERT_TRUE(test::succeeds(base::write_atomic(crun + "/status", status, {})));
  destroy();
  Rebuild claiming = by_force();
  claiming.unclaimed = lifecycle::repair::Unclaimed::kClaim;
  EXPECT_THAT(rebuilt(claiming).partitions, IsEmpty());
}

// Its pid is another process's now.
TEST_F(RebuildTest, IsNotHeldUpByAContainerThatEndedLongAgo) {
  const std::string runc = host_.dir / "engines/runc/old";
  const std::string task = host_.dir / "engines/containerd/io.containerd.runtime.v2.task/moby/old";
  ASSERT_TRUE(test::succeeds(base::ensure_dir(runc, 0700)));
  ASSERT_TRUE(test::succeeds(base::ensure_dir(task, 0700)));
  const std::string lease = "0123456789abcdef0123456789abcdef";
  const std::string state = base::str(
      R"({"init_process_pid":)", init_.pid(),
      R"(,"init_process_start":1,"config":{"labels":["graphcore.ai/ipu.lease=)", lease, R"("]}})");
  ASSERT_TRUE(test::succeeds(base::write_atomic(runc + "/state.json", state, {})));
  const std::string config =
      base::str(R"({"annotations":{"graphcore.ai/ipu.lease":")", lease, R"("}})");
  ASSERT_TRUE(test::succeeds(base::write_atomic(task + "/config.json", config, {})));
  ASSERT_TRUE(test::succeeds(base::write_atomic(task + "/init.pid", base::str(init_.pid()), {})));
  destroy();
  EXPECT_THAT(rebuilt().notes, IsEmpty());
}

// Damage elsewhere, and somebody who starts a container at that moment.
TEST_F(RebuildTest, TakesAnIntentOverThatCanBeRead) {
  run("web", init_);
  const ledger::Intent intent{"job", "/b", "", host_.config.pools[0], {}, 2, test::dead_process()};
  const Lease job = host_.env.ledger.acquire(intent).take();
  const Rebuilt done = rebuilt(by_force());
  ASSERT_EQ(done.ended.size(), 1U);
  EXPECT_EQ(done.ended[0].id, job.id);
  EXPECT_EQ(done.running.size(), 1U);
  EXPECT_THAT(done.notes, IsEmpty());
}

// An index of the database does not lead to the address any more.
TEST_F(RebuildTest, KeepsTheAddressesThatOnlyTheRecordHas) {
  const Lease web = run("web", init_);
  change("DELETE FROM address");
  rebuilt(by_force());
  Ledger ledger = Ledger::open(path()).take();
  EXPECT_EQ(ledger.find(web.id).take().value().rails, web.rails);
}

TEST_F(RebuildTest, RefusesALedgerOfANewerVersion) {
  change("PRAGMA user_version = 99");
  EXPECT_TRUE(test::fails(rebuild_ledger(by_force(), test::HookHost::soon()), Code::kUnsupported,
                          "use that version"));
}

TEST_F(RebuildTest, ForgetsNoPartitionOfAControllerThatItsPoolHadBefore) {
  ledger::PartitionRecord old;
  old.pool = host_.config.pools[0].name;
  old.name = "p0";
  old.source = "10.9.9.9:8090";
  old.ipus = 4;
  ASSERT_TRUE(test::succeeds(host_.env.ledger.partitions().intend(old)));
  ASSERT_TRUE(test::succeeds(host_.env.ledger.partitions().mark_ready(old)));
  const Rebuilt done = rebuilt(by_force());
  ASSERT_EQ(done.partitions.size(), 1U);
  EXPECT_EQ(done.partitions[0].name, "p0");
}

TEST_F(RebuildTest, LeavesWhatEndedToReconcile) {
  const Lease web = run("web", init_);
  host_.start("cut short", 2);
  destroy();
  init_.end();
  EXPECT_EQ(rebuilt().ended.size(), 2U);
  Ledger ledger = Ledger::open(path()).take();
  lifecycle::Env env = env_of(ledger);
  const Lease held = ledger.get("cut short").take();
  EXPECT_EQ(held.state, LeaseState::kReleasing) << "by this process, which runs";
  ASSERT_TRUE(test::succeeds(lifecycle::end::reconcile(env, test::HookHost::soon())));
  EXPECT_THAT(ledger.live().take(), IsEmpty());
  EXPECT_THAT(host_.partitions(), IsEmpty());
  EXPECT_THAT(host_.lease_directories(), IsEmpty());
}

TEST_F(RebuildTest, RefusesWhoHasTheOldOneOpen) {
  run("web", init_);
  Lease waiting = host_.start("waiting", 2);
  destroy();
  rebuilt();
  EXPECT_FALSE(host_.ledger.begin_release(waiting, {1, 1}, "").ok());
  EXPECT_FALSE(host_.prepare("late", 2).ok());
}

TEST_F(RebuildTest, ReadsWhatIsLeftOfTheOldOne) {
  const Lease web = run("web", init_);
  ledger::PartitionRecord warm;
  warm.pool = "pod16";
  warm.name = "w-0123456789ab";
  warm.kind = ledger::PartitionKind::kWarm;
  warm.state = ledger::PartitionState::kReady;
  warm.ipus = 2;
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().intend(warm)));
  ASSERT_TRUE(test::succeeds(
      host_.controller.create({.id = warm.name, .size = 2}, test::HookHost::soon())));
  Rebuild wanted = rebuild();
  wanted.force = true;
  const Rebuilt done = rebuilt(wanted);
  ASSERT_EQ(done.partitions.size(), 1U);
  EXPECT_EQ(done.partitions[0].name, warm.name);
  Ledger ledger = Ledger::open(path()).take();
  EXPECT_EQ(ledger.find(web.id).take().value().state, LeaseState::kRunning);
  expect_clean(ledger);
}

TEST_F(RebuildTest, GivesAPartitionToWhoJoinedItAndRuns) {
  const test::Init member("member", &init_);
  Lease sandbox = run("web", init_);
  ASSERT_TRUE(test::succeeds(prepare_in("member", init_, 4,
                                        R"({"io.kubernetes.cri.container-type":"container",)"
                                        R"("io.kubernetes.cri.sandbox-id":"web"})")));
  ASSERT_TRUE(test::succeeds(attach(host_.lease_of("member"), member)));
  destroy();
  init_.end();
  rebuilt();
  Ledger ledger = Ledger::open(path()).take();
  EXPECT_EQ(ledger.get("member").take().origin, ledger::Origin::kOwn);
  lifecycle::Env env = env_of(ledger);
  ASSERT_TRUE(test::succeeds(lifecycle::end::reconcile(env, test::HookHost::soon())));
  EXPECT_EQ(host_.partitions().size(), 1U);
  EXPECT_THAT(member.interfaces(), HasSubstr("roce0:"));
  expect_clean(ledger);
}

}  // namespace
}  // namespace hook::lifecycle::repair
