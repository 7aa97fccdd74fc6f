// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/partitions.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/partitions/ownership.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

Status check_name(const std::string& name) {
  if (vipu::is_partition_name(name) && !ledger::is_reserved_name(name)) return {};
  return Error(
      Code::kInvalid,
      str(base::quote(name), " is not a valid name for a partition: it must have 1 to ",
          vipu::kMaxPartitionName,
          " of A-Z, a-z, 0-9, '-' and '_', and must not be one that the toolkit gives, such as"
          " 'c-1f2e3d4c-0123456789ab'"));
}

Result<ledger::PartitionRecord> record_of(const NewPartition& wanted) {
  ledger::PartitionRecord record;
  record.pool = wanted.pool.name;
  record.name = wanted.request.id;
  record.source = config::source_of(wanted.pool);
  record.ipus = wanted.request.size;
  record.gcds = std::max(1U, wanted.request.gcds);
  record.shared = wanted.shared;
  record.reconfigurable = wanted.request.reconfigurable;
  record.owner = TRY(base::current_process());
  record.boot_id = TRY(base::boot_id());
  record.created_ms = base::unix_millis();
  if (wanted.reserved) {
    record.reservation = wanted.reserved->name;
    record.reserved_for = wanted.reserved->owner;
    record.user = wanted.reserved->user;
    record.tenant = wanted.reserved->tenant;
  }
  return record;
}

// Makes the record of a partition that was made READY. The time of a reservation begins.
Status finish_creation(Env& env, const NewPartition& wanted, ledger::PartitionRecord record) {
  if (wanted.reserved && wanted.reserved->time.count() != 0)
    record.until_ms = base::unix_millis() + wanted.reserved->time.count();
  return env.ledger.partitions().mark_ready(record);
}

// What became of a request for a partition.
struct Asked {
  bool is_made = false;  // the controller said so: the partition is ours, whatever came later
  Status done;
};

Asked ask_controller(vipu::Controller& controller, const NewPartition& wanted,
                     const Deadline& deadline) {
  Asked asked{false, controller.submit(wanted.request, deadline)};
  asked.is_made = asked.done.ok();
  if (!asked.is_made) return asked;
  if (wanted.wait) {
    const Result<vipu::Grant> grant = controller.wait(wanted.request.id, deadline);
    if (!grant.ok()) asked.done = grant.error();
  }
  if (asked.done.ok() && wanted.confirm) asked.done = wanted.confirm();
  return asked;
}

// Returns the partition as its controller has it.
Result<vipu::Partition> get_listed(vipu::Controller& controller, const config::PoolConfig& pool,
                                   const std::string& name, const Deadline& deadline) {
  for (vipu::Partition& partition : TRY(controller.list(deadline))) {
    if (partition.id == name) return std::move(partition);
  }
  return Error(Code::kNotFound, str("pool '", pool.name, "' has no partition ", base::quote(name),
                                    "; see 'ipuctl partition list'"));
}

// Checks that the controller has no partition of this name. The caller skips this if a dead process
// left a record, because that record already lets reconcile() remove the partition.
Status check_absent(vipu::Controller& controller, const config::PoolConfig& pool,
                    const std::string& name, const Deadline& deadline) {
  const Result<vipu::Partition> listed = get_listed(controller, pool, name, deadline);
  if (listed.ok()) {
    return Error(Code::kExists,
                 str("pool '", pool.name, "' already has a partition ", base::quote(name),
                     " that ipuctl on this host did not create; choose another name, or adopt the"
                     " partition with 'ipuctl partition adopt'"));
  }
  if (listed.error().code() == Code::kNotFound) return {};
  return listed.error();
}

// Returns why there is no partition of ours with this name.
Error not_ours(Env& env, const config::PoolConfig& pool, const std::string& name,
               const Deadline& deadline) {
  const Result<vipu::Partition> listed = get_listed(*env.controller(pool), pool, name, deadline);
  if (!listed.ok()) return listed.error();
  return {Code::kDenied, str("partition ", base::quote(name), " of pool '", pool.name,
                             "' was not created by ipuctl on this host; use the tool that"
                             " created it")};
}

// Returns the IPUs of all GCDs, which have equally many.
Result<std::vector<ledger::LeasedIpu>> ipus_of(const vipu::Grant& grant) {
  const size_t each = grant.gcds.empty() ? 0 : grant.gcds.front().devices.size();
  if (each == 0) return Error(Code::kInternal, "the controller reports no IPUs for it");
  const auto all = static_cast<uint32_t>(each * grant.gcds.size());
  return TRY_CTX("its GCDs", plan::leased_ipus(grant.gcds, all));
}

// Returns the live lease that made NAME for itself, if there is one.
Result<std::optional<ledger::Lease>> own_lease(Env& env, const config::PoolConfig& pool,
                                               const std::string& name) {
  for (ledger::Lease& lease : TRY(env.ledger.partitions().holders(pool.name, name))) {
    if (lease.origin == ledger::Origin::kOwn) return std::optional<ledger::Lease>(std::move(lease));
  }
  return std::optional<ledger::Lease>();
}

Error belongs_to(const ledger::Lease& lease) {
  return {Code::kBusy,
          str("partition ", base::quote(lease.partition), " was created for container ",
              base::short_id(lease.container), " and is in use; stop the container")};
}

Result<ledger::PartitionRecord> get_record(Env& env, const config::PoolConfig& pool,
                                           const std::string& name, const Deadline& deadline) {
  std::optional<ledger::PartitionRecord> record =
      TRY(env.ledger.partitions().find(pool.name, name));
  if (record) return std::move(*record);
  const std::optional<ledger::Lease> lease = TRY(own_lease(env, pool, name));
  if (lease) return belongs_to(*lease);
  return not_ours(env, pool, name, deadline);
}

Status check_idle(const ledger::PartitionRecord& record) {
  if (!is_held(record, TRY(base::boot_id()))) return {};
  return Error(Code::kBusy,
               str("partition ", base::quote(record.name), " is being ",
                   record.state == ledger::PartitionState::kIntent ? "created" : "removed",
                   " by process ", record.owner.pid, "; try again when it is done"));
}

// Returns whether nothing is left of a partition whose creation failed. The name of a reservation's
// partition is random: if the controller does not have it, the lost request may still make it, and
// the record stays for reconcile() to look again.
bool undo(vipu::Controller& controller, const ledger::PartitionRecord& record,
          const Deadline& deadline) {
  const Result<base::Removed> removed = controller.remove(record.name, vipu::Force::kYes, deadline);
  if (!removed.ok()) return false;
  return record.reservation.empty() || removed.value() == base::Removed::kNow;
}

// Undoes a creation. REMOVING says that the controller was asked, if the removal fails and
// reconcile() is to do it. The deadline may have ended the attempt, so the removal has time of its
// own.
Status undo_creation(Env& env, vipu::Controller& controller, ledger::PartitionRecord record) {
  constexpr std::chrono::milliseconds kUndoTime{5000};
  TRY(env.ledger.partitions().begin_removal(record, record.owner, vipu::Force::kYes));
  if (undo(controller, record, Deadline::after(kUndoTime)))
    return env.ledger.partitions().finish_removal(record);
  return env.ledger.partitions().note_failure(record);
}

// Leaves what is known of a partition that the controller may have made, and says what to do. The
// record stays INTENT.
Error leave_unsure(Env& env, const ledger::PartitionRecord& record, const Error& error) {
  const Status noted = env.ledger.partitions().note_failure(record);
  if (!noted.ok()) return noted.error();
  return Error(error.code(), str(error.message(), "; if 'ipuctl partition list' shows partition ",
                                 quote(record.name), ", 'ipuctl partition remove ", record.name,
                                 "' removes it, whoever uses it: first ask on the other hosts"));
}

// Returns the record of this name that a dead process left, and whose partition may be another
// host's.
Result<std::optional<ledger::PartitionRecord>> find_unsure(Env& env, const std::string& pool,
                                                           const std::string& name) {
  auto left = TRY(env.ledger.partitions().find(pool, name));
  const bool is_one = left && left->state != ledger::PartitionState::kReady &&
                      may_be_of_others(*left) && !is_held(*left, TRY(base::boot_id()));
  if (!is_one) left.reset();
  return left;
}

// Forgets that record.
Status forget_unsure(Env& env, const std::string& pool, const std::string& name) {
  const auto left = TRY(find_unsure(env, pool, name));
  return left ? env.ledger.partitions().finish_removal(*left) : Status();
}

}  // namespace

bool is_silence(const Error& error) {
  return error.code() == Code::kUnavailable || error.code() == Code::kTimeout;
}

Status check_gcds(uint32_t gcds, uint32_t ipus, std::string_view option) {
  if (gcds == 0 || ipus % gcds == 0) return {};
  return Error(Code::kInvalid,
               str(gcds, " GCDs cannot share ", ipus, " IPUs evenly; change --gcds or ", option));
}

Status check_partition(const NewPartition& wanted) {
  const vipu::PartitionRequest& request = wanted.request;
  if (!wanted.reserved) TRY(check_name(request.id));
  if (request.size == 0) return Error(Code::kInvalid, "give the number of IPUs with --size");
  return check_gcds(request.gcds, request.size, "--size");
}

Status create_partition(Env& env, const NewPartition& wanted, const Deadline& deadline) {
  TRY(check_partition(wanted));
  TRY(env.ledger.drain().check());
  const ledger::PartitionRecord record = TRY(record_of(wanted));
  const auto controller = env.controller(wanted.pool);
  // A dead process asked for this name, and its request may still be carried out. Its record stays
  // until there is the new one.
  std::optional<ledger::PartitionRecord> late = TRY(find_unsure(env, record.pool, record.name));
  if (late && TRY(look_for(*controller, *late, deadline)) == Unsure::kEnded) {
    TRY(env.ledger.partitions().finish_removal(*late));
    late.reset();
  }
  if (late || !TRY(env.ledger.partitions().find(record.pool, record.name))) {
    TRY(check_absent(*controller, wanted.pool, record.name, deadline));
  }
  if (late) {
    TRY(env.ledger.partitions().intend_again(record, *late));
  } else {
    const Reserved reserved = wanted.reserved.value_or(Reserved());
    TRY(env.ledger.partitions().intend(record, reserved.most, reserved.share));
  }
  const Asked asked = ask_controller(*controller, wanted, deadline);
  if (asked.done.ok()) return finish_creation(env, wanted, record);
  const Error& error = asked.done.error();
  // If the controller was full or busy, a partition of this name is another host's, unless an
  // earlier request may have made it, or may do so yet.
  const bool is_refused =
      !asked.is_made && !late && (vipu::made_nothing(error) || error.code() == Code::kBusy);
  if (is_refused) {
    TRY(env.ledger.partitions().finish_removal(record));
  } else if (!asked.is_made && may_be_of_others(record)) {
    return leave_unsure(env, record, error);
  } else {
    TRY(undo_creation(env, *controller, record));
  }
  return error;
}

Status adopt_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                       const Deadline& deadline) {
  TRY(check_name(name));
  if (pool.provider != config::Provider::kVipu) {
    return Error(Code::kUnsupported,
                 str("pool '", pool.name,
                     "' has no V-IPU controller, and so no partitions that ipuctl did not create"));
  }
  const auto controller = env.controller(pool);
  const vipu::Partition partition = TRY(get_listed(*controller, pool, name, deadline));
  if (partition.ready != vipu::ReadyState::kActive) {
    return Error(Code::kBusy,
                 str("partition ", base::quote(name), " is ", vipu::name_of(partition.ready),
                     ", and can be adopted once it is ACTIVE; see 'ipuctl partition"
                     " show'"));
  }
  const vipu::Grant grant = TRY(controller->config(name, std::nullopt, deadline));
  const std::vector<ledger::LeasedIpu> ipus =
      TRY_CTX(str("partition ", base::quote(name)), ipus_of(grant));
  ledger::PartitionRecord record;
  record.pool = pool.name;
  record.name = name;
  record.source = config::source_of(pool);
  record.ipus = static_cast<uint32_t>(ipus.size());
  record.gcds = static_cast<uint32_t>(grant.gcds.size());
  record.reconfigurable = partition.reconfigurable;
  record.created_ms = base::unix_millis();
  TRY(forget_unsure(env, pool.name, name));
  return env.ledger.partitions().adopt(record, ipus);
}

Result<std::vector<std::string>> check_change(Env& env, const config::PoolConfig& pool,
                                              const std::string& name, vipu::Force force,
                                              const Deadline& deadline) {
  const ledger::PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  TRY(check_idle(record));
  const std::vector<ledger::Lease> holders = TRY(env.ledger.partitions().holders(pool.name, name));
  const bool by_force =
      force == vipu::Force::kYes && record.kind != ledger::PartitionKind::kForeign;
  if (!holders.empty() && !by_force) return ledger::in_use(name, holders);
  std::vector<std::string> containers;
  for (const ledger::Lease& lease : holders) containers.push_back(lease.container);
  return containers;
}

Result<RemovedPartition> remove_partition(Env& env, const config::PoolConfig& pool,
                                          const std::string& name, vipu::Force force,
                                          const Deadline& deadline) {
  RemovedPartition done;
  done.containers = TRY(check_change(env, pool, name, force, deadline));
  ledger::PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  if (record.kind == ledger::PartitionKind::kForeign) {
    TRY(env.ledger.partitions().forget(record));
    done.forgotten = true;
    return done;
  }
  const base::ProcessId self = TRY(base::current_process());
  TRY(env.ledger.partitions().begin_removal(record, self, force));
  const Result<base::Removed> removed =
      recorded_controller(env, record.pool, record.source)->remove(name, force, deadline);
  if (!removed.ok() && removed.error().code() == Code::kBusy) {
    // The controller refused. After any other error the outcome is unknown: whoever gave the name
    // removes it again, or reconcile() does if the name is ours.
    TRY(env.ledger.partitions().cancel_removal(record));
    const std::string hint = force == vipu::Force::kNo ? "; --force removes it" : "";
    return Error(Code::kBusy, str(removed.error().message(), hint));
  }
  if (!removed.ok()) {
    TRY(env.ledger.partitions().note_failure(record));
    return removed.error();
  }
  done.removed = removed.value();
  TRY(env.ledger.partitions().finish_removal(record, removed.value()));
  return done;
}

Status check_reset(Env& env, const config::PoolConfig& pool, const std::string& name,
                   const Deadline& deadline) {
  TRY(env.ledger.host().check());
  const ledger::PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  if (record.kind == ledger::PartitionKind::kForeign) {
    return Error(Code::kDenied, str("partition ", base::quote(name), " of pool '", pool.name,
                                    "' was adopted, so ipuctl does not reset it; use 'vipu reset"
                                    " partition'"));
  }
  TRY(check_change(env, pool, name, vipu::Force::kNo, deadline));
  if (record.state == ledger::PartitionState::kReady) return {};
  // A request was cut short: the partition may be another host's.
  const bool is_made = record.state != ledger::PartitionState::kIntent;
  return Error(Code::kBusy,
               str("partition ", base::quote(name), " of pool '", pool.name,
                   "' may be another host's, because its ", is_made ? "removal" : "creation",
                   " here was cut short, so it is not reset; 'ipuctl gc' says what to do"));
}

Status reset_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                       vipu::Relocate relocate, const Deadline& deadline) {
  TRY(check_reset(env, pool, name, deadline));
  const ledger::PartitionRecord record = TRY(get_record(env, pool, name, deadline));
  TRY(recorded_controller(env, record.pool, record.source)->reset(name, relocate, deadline));
  return env.ledger.partitions().mark_reset(record);
}

}  // namespace hook::lifecycle::partitions
