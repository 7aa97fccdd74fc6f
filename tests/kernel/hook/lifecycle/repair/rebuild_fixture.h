// SPDX-License-Identifier: Apache-2.0
// A damaged ledger is rebuilt under containers that run.
#pragma once

#include "hook/lifecycle/repair/rebuild.h"

#include <gmock/gmock.h>

#include "base/names.h"
#include "hook/ledger/audit_verify.h"
#include "hook/ledger/check.h"
#include "hook/ledger/rebuilder.h"
#include "hook/lifecycle/repair/compare.h"
#include "tests/support/attached.h"
#include "tests/support/sql.h"

namespace hook::lifecycle::repair {

using namespace base::names;
using ledger::Lease;
using ledger::LeaseState;
using ledger::Ledger;
using testing::HasSubstr;
using testing::IsEmpty;

class RebuildFixture : public test::AttachedTest {
 protected:
  std::string path() { return host_.dir / "state/ledger.db"; }
  void change(const char* sql) { ASSERT_TRUE(test::succeeds(test::run_sql(path(), sql))); }
  lifecycle::Env env_of(ledger::Ledger& ledger) {
    const lifecycle::Env& env = host_.env;
    return {ledger,           env.controller,  env.security,
            env.start_refill, env.start_probe, env.start_reconcile,
            env.host,         env.run_dir,     env.hook_program};
  }
  Rebuild rebuild() {
    Rebuild wanted;
    wanted.ledger = path();
    wanted.run_dir = host_.env.run_dir;
    wanted.engines_dir = host_.dir / "engines";
    wanted.pools = host_.config.pools;
    wanted.env = [this](ledger::Ledger& ledger) { return env_of(ledger); };
    return wanted;
  }
  Rebuilt rebuilt(const Rebuild& wanted) {
    Result<Rebuilt> done = rebuild_ledger(wanted, test::HookHost::soon());
    EXPECT_TRUE(test::succeeds(done));
    return done.ok() ? std::move(done).take() : Rebuilt();
  }
  Rebuilt rebuilt() { return rebuilt(rebuild()); }
  Rebuild by_force() {
    Rebuild wanted = rebuild();
    wanted.force = true;
    return wanted;
  }
  // Nothing of the database can be read any more.
  void destroy() {
    const base::Fd file = base::open_at(AT_FDCWD, path(), O_WRONLY | O_TRUNC).take();
    ASSERT_TRUE(test::succeeds(base::write_all(file.get(), std::string(8192, 'x'), path())));
    ASSERT_TRUE(test::succeeds(base::remove_file(path() + "-wal")));
  }
  // What the audit log has, which must be without a fault.
  ledger::AuditReport audit() {
    Ledger ledger = Ledger::open(path()).take();
    ledger::AuditReport report =
        ledger::verify_audit(ledger::audit_files(ledger::audit_log_of(path())),
                             ledger.events().audit_mark().take())
            .take();
    EXPECT_FALSE(report.fault) << report.fault->reason;
    return report;
  }
  // A lease whose container runs as INIT.
  Lease run(const std::string& name, const test::Init& init, uint32_t ipus = 4) {
    const Lease lease = host_.start(name, ipus);
    EXPECT_TRUE(test::succeeds(attach(lease, init)));
    return host_.stored(lease);
  }
  void expect_clean(ledger::Ledger& ledger) {
    for (const ledger::Flaw& flaw : ledger::check_ledger(path()).take()) ADD_FAILURE() << flaw.says;
    lifecycle::Env env = env_of(ledger);
    for (const ledger::Flaw& flaw :
         lifecycle::repair::compare_outside(env, host_.config.pools, test::HookHost::soon()).take())
      ADD_FAILURE() << flaw.says;
  }
  const ledger::HostWitnesses kHost{.machine = "m", .board = "b"};
  const std::string kUnclaimed = "c-" + ledger::tag_of(kHost) + "-0123456789ab";
  test::Init other_{"job"};
};

}  // namespace hook::lifecycle::repair
