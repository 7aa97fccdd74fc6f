// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/promises.h"

#include <algorithm>
#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "tests/fault/network_view.h"
#include "tests/fault/places.h"

namespace fault {

using namespace base::names;

namespace {

constexpr size_t kMaxFile = 1 << 20;

Result<LeaseRow> newest_lease(const std::string& name) {
  const std::optional<LedgerView> view = TRY(World::ledger());
  const LeaseRow* const lease = view ? view->of_container(name) : nullptr;
  return lease == nullptr ? LeaseRow{} : *lease;
}

std::string files_of(const LeaseRow& lease) {
  return str(hook::config::run_dir(), "/leases/", lease.id);
}

bool was_called_for(const std::string& name) {
  const Result<std::string> calls = base::read_file(kCalled, kMaxFile);
  return calls.ok() && calls.value().find(str(" ", name, "\n")) != std::string::npos;
}

}  // namespace

Result<std::string> check_created(World&, const std::string& name) {
  const LeaseRow lease = TRY(newest_lease(name));
  if (lease.state != "ALLOCATED") return str("created, and the lease is '", lease.state, "'");
  if (TRY(World::partitions()).count(lease.partition) == 0) {
    return std::string("created, and there is no partition");
  }
  if (!std::filesystem::exists(files_of(lease) + "/ipuof.conf.d/ipuof.conf")) {
    return std::string("created, and there is no ipuof.conf");
  }
  const std::string config =
      TRY(base::read_file(World::bundle_of(name) + "/config.json", kMaxFile));
  if (config.find(lease.id) == std::string::npos) {
    return std::string("created, and config.json does not lead to the lease");
  }
  if (!was_called_for(name))
    return std::string("created, and the low-level runtime was not called");
  return std::string();
}

Result<std::string> check_created_or_given_up(World& world, const std::string& name) {
  const LeaseRow lease = TRY(newest_lease(name));
  const bool is_given_up =
      (lease.state == "RELEASING" || lease.state == "FAILED") && lease.error.ends_with(" ended");
  if (is_given_up) return std::string();
  return check_created(world, name);
}

Result<std::string> check_attached(World& world, const std::string& name) {
  const LeaseRow lease = TRY(newest_lease(name));
  if (lease.state != "RUNNING") return str("attached, and the lease is '", lease.state, "'");
  for (const Container& container : world.containers()) {
    if (container.name() != name) continue;
    const std::vector<LinkView> links = TRY(read_links(container.netns()));
    const bool up = std::any_of(links.begin(), links.end(), [](const LinkView& link) {
      return link.name == "roce0" && link.up;
    });
    if (up) return std::string();
  }
  return std::string("attached, and roce0 is not up");
}

// Poststop promises that another program releases the lease. If that is cut short, the lease has
// lost its owner, so that the next reconcile finds it.
Result<std::string> check_released(World& world, const std::string& name) {
  const LeaseRow lease = TRY(newest_lease(name));
  const bool is_orphan = world.is_cut() && !base::identify_process(lease.owner).ok();
  const bool ok = !lease.live || lease.state == "RELEASING" || is_orphan;
  return ok ? std::string() : str("released, and the lease is '", lease.state, "'");
}

Result<std::string> check_released_or_runs(World& world, const std::string& name) {
  const LeaseRow lease = TRY(newest_lease(name));
  if (world.is_cut() && lease.state == "RUNNING") return std::string();
  return check_released(world, name);
}

Result<std::string> check_gone(World&, const std::string& name) {
  const LeaseRow lease = TRY(newest_lease(name));
  if (lease.live) return str("given back, and the lease is '", lease.state, "'");
  if (lease.partition.starts_with("c-") && TRY(World::partitions()).count(lease.partition) != 0) {
    return str("given back, and there is partition ", lease.partition);
  }
  if (!lease.id.empty() && std::filesystem::exists(files_of(lease))) {
    return str("given back, and there is ", files_of(lease));
  }
  return std::string();
}

namespace {

enum class Ready { kNo, kYes };
Result<Ready> is_ready(const std::string& name) {
  const std::optional<LedgerView> view = TRY(World::ledger());
  if (!view) return Ready::kNo;
  const bool ready = std::any_of(
      view->partitions.begin(), view->partitions.end(),
      [&](const PartitionRow& row) { return row.name == name && row.state == "READY"; });
  return ready ? Ready::kYes : Ready::kNo;
}

}  // namespace

Result<std::string> check_partition_ready(World&, const std::string& name) {
  if (TRY(World::partitions()).count(name) == 0) return str("there is no partition ", name);
  const Ready ready = TRY(is_ready(name));
  return ready == Ready::kYes ? std::string() : str("partition ", name, " is not READY");
}

Result<std::string> check_partition_gone(World&, const std::string& name) {
  if (TRY(World::partitions()).count(name) != 0) return str("there is partition ", name);
  const Ready ready = TRY(is_ready(name));
  return ready == Ready::kNo ? std::string() : str("partition ", name, " is READY");
}

}  // namespace fault
