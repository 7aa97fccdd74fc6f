// SPDX-License-Identifier: Apache-2.0
// `ipuctl`: what an operator or a timer calls.
#include "base/clock.h"
#include "base/fs.h"
#include "base/resident.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "tests/fault/ledger_edit.h"
#include "tests/fault/processes.h"
#include "tests/fault/promises.h"
#include "tests/fault/scenario.h"

namespace fault {

using base::Result;

namespace {

constexpr const char* kGone = "gone";
constexpr const char* kMoved = "moved";
constexpr const char* kKept = "kept";
constexpr const char* kStale = "of the old place";
constexpr const char* kPartition = "p0";

Result<std::string> gone(World& world) { return check_gone(world, kGone); }

Result<Program> gc(World& world) {
  TRY(world.attach_now(kGone));
  world.end_containers();
  return World::ipuctl({"gc"});
}

// What a start sets off beside itself.
Result<Program> reconcile(World& world) {
  TRY(world.attach_now(kGone));
  world.end_containers();
  return Program{hook::config::hook_program(), {"reconcile"}};
}

Result<Program> gc_after_reboot(World& world) {
  TRY(world.attach_now(kGone));
  TRY(world.reboot());
  return World::ipuctl({"gc"});
}

// The endpoint of a container that runs on has died.
Result<Program> gc_endpoint(World& world) {
  TRY(world.attach_now(kKept, Ask{{"IPU_COUNT=4", "IPU_VIPU_ENDPOINT=1"}}));
  const base::Deadline deadline = base::Deadline::after(std::chrono::seconds(10));
  for (const std::string& text : running_endpoints()) {
    const auto pid = TRY(base::parse_int<pid_t>(text, 1, INT32_MAX));
    const base::ProcessId process = TRY(base::identify_process(pid));
    TRY(base::end_resident(process, deadline));
  }
  return World::ipuctl({"gc"});
}

Result<std::string> endpoint_is_back(World& world) {
  if (running_endpoints().size() != 1) return std::string("no endpoint runs");
  return check_attached(world, kKept);
}

Result<std::string> ipuof_path() {
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  const LeaseRow* const lease = ledger ? ledger->of_container(kMoved) : nullptr;
  return base::str(hook::config::run_dir(), "/leases/", lease == nullptr ? "" : lease->id,
                   "/ipuof.conf.d/ipuof.conf");
}

Result<std::string> ipuof_file() {
  const std::string path = TRY(ipuof_path());
  return base::read_file(path, 1 << 20);
}

// The partition of a running container has moved.
Result<Program> refresh(World& world) {
  TRY(world.attach_now(kMoved));
  TRY(move_ipus(hook::config::state_dir(), kMoved));
  const std::string path = TRY(ipuof_path());
  TRY(base::write_atomic(path, kStale, {0444, {}, {}}));
  return World::ipuctl({"lease", "refresh"});
}

Result<std::string> refreshed(World& world) {
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  if (!ledger || ledger->ipus_elsewhere != 0) return std::string("the ledger has the old IPUs");
  return check_attached(world, kMoved);
}

// Wherever it was cut, the next one ends it: also the file is what it was before the move.
Result<std::string> ends_with_the_next(World& world) {
  TRY(must_run(World::ipuctl({"lease", "refresh"})));
  const std::string file = TRY(ipuof_file());
  if (file == kStale) return std::string("after another refresh ipuof.conf is stale");
  return refreshed(world);
}

Result<Program> make(World&) {
  return World::ipuctl({"partition", "create", kPartition, "--size", "4"});
}

Result<std::string> made(World& world) { return check_partition_ready(world, kPartition); }

Result<Program> remove(World& world) {
  const Program create = TRY(make(world));
  TRY(must_run(create));
  return World::ipuctl({"partition", "remove", kPartition});
}

Result<std::string> removed(World& world) { return check_partition_gone(world, kPartition); }

Result<Program> reset(World& world) {
  const Program create = TRY(make(world));
  TRY(must_run(create));
  return World::ipuctl({"partition", "reset", kPartition});
}

Result<Program> refill(World&) { return World::ipuctl({"pool", "refill"}); }

Result<std::string> refilled(World&) {
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  for (const PartitionRow& row : ledger ? ledger->partitions : std::vector<PartitionRow>()) {
    if (row.kind == "WARM" && row.state == "READY") return std::string();
  }
  return std::string("refilled, and no warm partition is READY");
}

}  // namespace

std::vector<Scenario> control_scenarios() {
  return {{"gc", Bystander::kYes, {}, gc, gone},
          {"reconcile", Bystander::kYes, {}, reconcile, gone},
          {"gc-endpoint", Bystander::kYes, {}, gc_endpoint, endpoint_is_back},
          {"gc-reboot", Bystander::kNo, {}, gc_after_reboot, gone},
          {"lease-refresh", Bystander::kYes, {}, refresh, refreshed, ends_with_the_next},
          {"partition-create", Bystander::kYes, {}, make, made},
          {"partition-remove", Bystander::kYes, {}, remove, removed},
          {"partition-reset", Bystander::kYes, {}, reset, made, made},
          {"pool-refill", Bystander::kYes, {false, true}, refill, refilled}};
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> kAll = [] {
    std::vector<Scenario> all;
    for (auto part : {create_scenarios(), hook_scenarios(), control_scenarios(), fleet_scenarios(),
                      claim_scenarios(), share_scenarios(), copy_scenarios()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kAll;
}

}  // namespace fault
