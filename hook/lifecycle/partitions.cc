// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions.h"

#include <bit>

#include "base/text.h"

namespace hook {
namespace {

using base::Code;
using base::Deadline;
using base::Error;
using base::Result;
using base::Status;
using base::str;

// "c-0123456789ab" and "w-0123456789ab" are names that we give ourselves.
bool is_reserved(const std::string& name) {
  return name.starts_with("c-") || name.starts_with("w-");
}

Result<PartitionRecord> record_of(const NewPartition& wanted) {
  PartitionRecord record;
  record.pool = wanted.pool.name;
  record.name = wanted.request.id;
  record.source = source_of(wanted.pool);
  record.ipus = wanted.request.size;
  record.gcds = std::max(1U, wanted.request.gcds);
  record.shared = wanted.shared;
  record.reconfigurable = wanted.request.reconfigurable;
  record.owner = TRY(base::current_process());
  record.boot_id = TRY(base::boot_id());
  record.created_ms = base::unix_millis();
  return record;
}

Status ask_controller(vipu::Controller& controller, const NewPartition& wanted,
                      const Deadline& deadline) {
  if (!wanted.wait) return controller.submit(wanted.request, deadline);
  TRY(controller.create(wanted.request, deadline));
  return {};
}

// Why there is no partition of ours with this name.
Error not_ours(Env& env, const PoolConfig& pool, const std::string& name,
               const Deadline& deadline) {
  const Result<std::vector<vipu::Partition>> listed = env.controller(pool)->list(deadline);
  if (!listed.ok()) return listed.error();
  for (const vipu::Partition& partition : listed.value()) {
    if (partition.id != name) continue;
    return {Code::kDenied, str("partition ", base::quote(name), " of pool '", pool.name,
                               "' was not made by ipuctl on this host, so it is not touched; use"
                               " what made it")};
  }
  return {Code::kNotFound, str("pool '", pool.name, "' has no partition ", base::quote(name),
                               "; see 'ipuctl partition list'")};
}

// The partition of the one live lease that made NAME for itself.
Result<std::optional<Lease>> own_lease(Env& env, const PoolConfig& pool, const std::string& name) {
  for (Lease& lease : TRY(env.ledger.partitions().holders(pool.name, name))) {
    if (lease.origin == Origin::kOwn) return std::optional<Lease>(std::move(lease));
  }
  return std::optional<Lease>();
}

Error belongs_to(const Lease& lease) {
  return {Code::kBusy, str("partition ", base::quote(lease.partition), " is in use by ",
                           lease.container.substr(0, 12), ", for which it was made; stop that")};
}

Result<PartitionRecord> get_record(Env& env, const PoolConfig& pool, const std::string& name,
                                   const Deadline& deadline) {
  std::optional<PartitionRecord> record = TRY(env.ledger.partitions().find(pool.name, name));
  if (record) return std::move(*record);
  const std::optional<Lease> lease = TRY(own_lease(env, pool, name));
  if (lease) return belongs_to(*lease);
  return not_ours(env, pool, name, deadline);
}

// A record is held by its process while it is made or removed.
bool is_held(const PartitionRecord& record, const std::string& boot) {
  if (record.state == PartitionState::kReady) return false;
  return record.boot_id == boot && base::is_running(record.owner);
}

Status check_idle(const PartitionRecord& record) {
  if (!is_held(record, TRY(base::boot_id()))) return {};
  return Error(Code::kBusy, str("partition ", base::quote(record.name), " is being ",
                                record.state == PartitionState::kIntent ? "made" : "removed",
                                " by process ", record.owner.pid));
}

// Another process that was faster decides what becomes of it; nothing is in the way then.
Status remove_leftover(Env& env, PartitionRecord& record, const Deadline& deadline,
                       std::vector<std::string>& removed) {
  const base::ProcessId self = TRY(base::current_process());
  const Status taken = env.ledger.partitions().removing(record, self, vipu::Force::kYes);
  if (!taken.ok() && taken.error().code() == Code::kBusy) return {};
  TRY(taken);
  const auto controller = recorded_controller(env, record.pool, record.source);
  const Result<base::Removed> gone =
      controller->remove(record.name, vipu::Force::kYes, deadline.capped(kLongestAttempt));
  if (!gone.ok()) {
    TRY(env.ledger.partitions().note_failure(record));
    return gone.error();
  }
  TRY(env.ledger.partitions().removed(record));
  removed.push_back(record.name);
  return {};
}

}  // namespace

bool is_silence(const Error& error) {
  return error.code() == Code::kUnavailable || error.code() == Code::kTimeout;
}

Status check_partition(const NewPartition& wanted) {
  const vipu::PartitionRequest& request = wanted.request;
  if (!vipu::is_partition_name(request.id) || is_reserved(request.id)) {
    return Error(Code::kInvalid,
                 str(base::quote(request.id), " cannot be the name of a partition: it takes 1 to ",
                     vipu::kMaxPartitionName,
                     " of A-Z, a-z, 0-9, '-' and '_', and must not begin with 'c-' or 'w-'"));
  }
  if (request.size == 0) return Error(Code::kInvalid, "say how many IPUs with --size");
  if (request.gcds > 0 && request.size % request.gcds != 0) {
    return Error(Code::kInvalid, str(request.gcds, " GCDs cannot share ", request.size,
                                     " IPUs evenly; change --gcds or --size"));
  }
  return {};
}

Status create_partition(Env& env, const NewPartition& wanted, const Deadline& deadline) {
  TRY(check_partition(wanted));
  const PartitionRecord record = TRY(record_of(wanted));
  TRY(env.ledger.partitions().intend(record));
  const auto controller = env.controller(wanted.pool);
  const Status made = ask_controller(*controller, wanted, deadline);
  if (made.ok()) return env.ledger.partitions().ready(record);
  // The deadline may be what ended it; giving back has time of its own. What fails is left to
  // reconcile(), which knows of it by its record.
  constexpr std::chrono::milliseconds kUndoTime{5000};
  const bool undone =
      vipu::made_nothing(made.error()) ||
      controller->remove(record.name, vipu::Force::kYes, Deadline::after(kUndoTime)).ok();
  TRY(undone ? env.ledger.partitions().removed(record)
             : env.ledger.partitions().note_failure(record));
  return made;
}

Result<std::vector<std::string>> check_change(Env& env, const PoolConfig& pool,
                                              const std::string& name, vipu::Force force,
                                              const Deadline& deadline) {
  const PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  TRY(check_idle(record));
  const std::vector<Lease> holders = TRY(env.ledger.partitions().holders(pool.name, name));
  if (!holders.empty() && force == vipu::Force::kNo) return in_use(name, holders);
  std::vector<std::string> containers;
  for (const Lease& lease : holders) containers.push_back(lease.container);
  return containers;
}

Result<RemovedPartition> remove_partition(Env& env, const PoolConfig& pool, const std::string& name,
                                          vipu::Force force, const Deadline& deadline) {
  RemovedPartition done;
  done.containers = TRY(check_change(env, pool, name, force, deadline));
  PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  const base::ProcessId self = TRY(base::current_process());
  TRY(env.ledger.partitions().removing(record, self, force));
  const Result<base::Removed> removed =
      recorded_controller(env, record.pool, record.source)->remove(name, force, deadline);
  if (!removed.ok() && removed.error().code() == Code::kBusy) {
    // The controller decided against it. After any other error nobody knows, and reconcile() ends
    // what was begun.
    TRY(env.ledger.partitions().kept(record));
    const std::string hint = force == vipu::Force::kNo ? "; --force removes it" : "";
    return Error(Code::kBusy, str(removed.error().message(), hint));
  }
  if (!removed.ok()) {
    TRY(env.ledger.partitions().note_failure(record));
    return removed.error();
  }
  done.removed = removed.value();
  TRY(env.ledger.partitions().removed(record));
  return done;
}

Status reset_partition(Env& env, const PoolConfig& pool, const std::string& name,
                       vipu::Relocate relocate, const Deadline& deadline) {
  TRY(check_change(env, pool, name, vipu::Force::kNo, deadline));
  const PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  TRY(recorded_controller(env, record.pool, record.source)->reset(name, relocate, deadline));
  return env.ledger.partitions().was_reset(record);
}

Result<std::vector<PartitionRecord>> find_leftovers(Env& env, const Scope& scope) {
  const std::string boot = TRY(base::boot_id());
  const int64_t now = base::unix_millis();
  std::vector<PartitionRecord> records = TRY(env.ledger.partitions().all());
  std::erase_if(records, [&](const PartitionRecord& record) {
    return record.state == PartitionState::kReady || is_held(record, boot) ||
           (!scope.pool.empty() && record.pool != scope.pool) ||
           (scope.due_only && !is_due(record.retry_ms, now));
  });
  return records;
}

Result<std::vector<std::string>> reconcile_partitions(Env& env, const Deadline& deadline,
                                                      const Scope& scope,
                                                      std::vector<Error>& obstacles,
                                                      std::set<std::string>& silent) {
  std::vector<std::string> names;
  for (PartitionRecord& record : TRY(find_leftovers(env, scope))) {
    if (silent.contains(record.source)) continue;
    Status removed = remove_leftover(env, record, deadline, names);
    if (removed.ok()) continue;
    if (is_silence(removed.error())) silent.insert(record.source);
    obstacles.push_back(std::move(removed).error());
  }
  return names;
}

}  // namespace hook
