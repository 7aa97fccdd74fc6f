// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/partitions.h"

#include <algorithm>
#include <functional>

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/lookup.h"
#include "hook/lifecycle/partitions/ownership.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;

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
constexpr std::chrono::milliseconds kUndoTime{5000};

Status undo_creation(Env& env, vipu::Controller& controller, ledger::PartitionRecord record) {
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

namespace {

// TAKE_NAME asks for the name, once the ledger has the record.
Status create_recorded(Env& env, const NewPartition& wanted, const ledger::PartitionRecord& record,
                       const std::function<Status()>& take_name, const Deadline& deadline) {
  const auto controller = env.controller(wanted.pool);
  // A dead process asked for this name, and its request may still be carried out. Its record stays
  // until there is the new one.
  std::optional<ledger::PartitionRecord> late = TRY(find_unsure(env, record.pool, record.name));
  if (late && TRY(look_for(*controller, *late, deadline)) == Unsure::kEnded) {
    TRY(env.ledger.partitions().finish_removal(*late));
    late.reset();
  }
  // The name of a reservation's partition is random. Its place in a fleet's queue is kept from the
  // claim on, so nothing is asked before.
  const bool may_be_there =
      !wanted.reserved && (late || !TRY(env.ledger.partitions().find(record.pool, record.name)));
  if (may_be_there) {
    TRY(check_absent(*controller, wanted.pool, record.name, deadline));
  }
  if (late) {
    TRY(env.ledger.partitions().intend_again(record, *late));
  } else {
    const Reserved reserved = wanted.reserved.value_or(Reserved());
    TRY(env.ledger.partitions().intend(record, reserved.most, reserved.share));
  }
  const Status taken = take_name();
  if (!taken.ok()) {
    // With a lost answer, the fleet may know the name: gc has it forget what is in the ledger.
    const bool may_be_known = !wanted.reserved && taken.error().code() == Code::kTimeout;
    TRY(late || may_be_known ? env.ledger.partitions().note_failure(record)
                             : env.ledger.partitions().finish_removal(record));
    return taken.error();
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

// Creates a partition whose name the fleet gives once.
Status create_shared(Env& env, const NewPartition& wanted, ledger::PartitionRecord record,
                     const OpenFleet& fleet, const Deadline& deadline) {
  record.fleet = fleet.config.prefix;
  TRY(learn_partition(env, wanted.pool, record.name, deadline));
  const fleet::PartitionName name{record.pool, record.name};
  const std::string& me = env.ledger.host().tag();
  TRY(fleet::find_begun(fleet.at(deadline), name, me));
  const auto take_name = [&] { return begin_making(env, fleet, record, deadline); };
  const Status created = create_recorded(env, wanted, record, take_name, deadline);
  if (created.ok()) {
    Status told = fleet::finish_making(fleet.at_last(), name, me);
    if (told.ok()) return {};
    return std::move(told).error().wrap(
        str("partition ", quote(record.name), " is made, and 'ipuctl gc' tells the fleet"));
  }
  // While nobody knows whether there is such a partition, nobody else gets its name.
  const auto left = TRY(env.ledger.partitions().find(record.pool, record.name));
  if (!left) TRY(fleet::forget_making(fleet.at_last(), name, me));
  return created;
}

}  // namespace

Status create_partition(Env& env, const NewPartition& wanted, const Deadline& deadline) {
  TRY(check_partition(wanted));
  TRY(env.ledger.drain(wanted.pool.name).check());
  ledger::PartitionRecord record = TRY(record_of(wanted));
  if (!wanted.reserved) TRY(check_member(env));
  const bool is_own = wanted.reserved || wanted.pool.provider != config::Provider::kVipu;
  const std::optional<OpenFleet> fleet =
      TRY(is_own ? Result<std::optional<OpenFleet>>(std::nullopt) : open_fleet(env));
  const auto ask = [&] { return wanted.claim ? wanted.claim() : Status(); };
  if (!fleet) return create_recorded(env, wanted, record, ask, deadline);
  return create_shared(env, wanted, std::move(record), *fleet, deadline);
}

}  // namespace hook::lifecycle::partitions
