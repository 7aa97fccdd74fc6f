// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/reserve.h"

#include <bit>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/partitions/ownership.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/partitions/warm.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/shares.h"
#include "hook/lifecycle/start/patience.h"
#include "hook/lifecycle/start/shortage_text.h"
#include "hook/lifecycle/start/walls.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

// The partition has a random name of its own: whatever has this name at the controller is ours, and
// a partition of another host that has the name of the reservation is not.
Result<partitions::NewPartition> partition_of(Env& env, const config::Config& config,
                                              const config::PoolConfig& pool,
                                              const ReservationRequest& wanted) {
  partitions::NewPartition partition;
  partition.pool = pool;
  partition.request.id = TRY(partitions::random_name(env, vipu::MadeFor::kReservation));
  partition.wait = false;
  partition.request.size = wanted.ipus;
  partition.request.gcds = wanted.gcds;
  partition.request.allocation = pool.allocation;
  partition.request.cluster = pool.cluster;
  partition.reserved = partitions::Reserved{wanted.name,
                                            wanted.owner,
                                            wanted.time,
                                            wanted.user,
                                            wanted.most,
                                            wanted.tenant,
                                            share_of(config.policy, wanted.tenant)};
  return partition;
}

// Returns whether the request may succeed later.
bool may_pass(const Error& error) {
  return error.code() == Code::kBusy || partitions::is_silence(error);
}

// Makes the partition, unless an earlier attempt, whose answer was lost, is still to be undone.
// Each attempt has a name of its own: a removal whose answer was lost may be carried out later.
// Nobody can use the reservation before its IPUs and its turn are confirmed.
Status attempt(Env& env, const config::Config& config, partitions::NewPartition& partition,
               Turn& turn, config::Wall& wall, const Deadline& deadline) {
  if (TRY(env.ledger.partitions().find(partition.pool.name, partition.request.id))) {
    return Error(Code::kTimeout, str("the controller of pool ", quote(partition.pool.name),
                                     " did not answer, and an earlier request is not undone yet;"
                                     " try again when it answers"));
  }
  partition.confirm = [&]() -> Status {
    TRY(turn.confirm());
    const auto controller = env.controller(partition.pool);
    TRY(check_new_partition(*controller, wall, partition.request.id, deadline));
    return turn.finish();
  };
  const KindOf kind = [&](const auto& of_fleet) -> Result<const fleet::WarmKind*> {
    wall = TRY(config::find_wall(partition.pool, config.policy.tenants, of_fleet,
                                 partition.reserved->tenant));
    return nullptr;
  };
  bool is_claimed = false;
  partition.claim = [&]() -> Status {
    const Status claimed = turn.claim(partition.reserved->name, partition.request.id, kind);
    partition.request.pinned = turn.pinned();  // a claim may find another block
    TRY(Status(claimed));
    partition.request.allocation = wall.allocation;
    is_claimed = true;
    return {};
  };
  for (;;) {
    is_claimed = false;
    partition.request.id = TRY(partitions::random_name(env, vipu::MadeFor::kReservation));
    // While it waits for others, it leaves nothing in the ledger.
    TRY(turn.check_claim(partition.reserved->name, partition.request.id));
    partition.request.pinned = turn.pinned();
    const Status made = partitions::create_partition(env, partition, deadline);
    // What it left is removed under its own name, and counts until then.
    const auto left = made.ok()
                          ? Result<std::optional<ledger::PartitionRecord>>(std::nullopt)
                          : env.ledger.partitions().find(partition.pool.name, partition.request.id);
    if (!made.ok() && left.ok() && !left.value()) turn.unclaim();
    const bool came_late = turn.pinned() != partition.request.pinned;
    if (made.ok()) return made;
    if (came_late && !deadline.passed()) continue;
    if (is_claimed) turn.got_nothing();
    return is_claimed ? Status(refused_within(wall, made.error())) : made;
  }
}

// Returns whether warm partitions were given back for the request.
bool gave_back(Env& env, const config::PoolConfig& pool, const config::Wall& wall, uint32_t ipus,
               const Deadline& deadline) {
  const Result<partitions::GivenBack> given =
      partitions::give_back_warm(env, pool, wall.allocation, ipus, deadline);
  return given.ok() && given.value() == partitions::GivenBack::kSome;
}

Status check_name(const std::string& name) {
  if (vipu::is_partition_name(name)) return {};
  return Error(Code::kInvalid,
               str(quote(name), " is not a valid name for a reservation: it must", " have 1 to ",
                   vipu::kMaxPartitionName, " of A-Z, a-z, 0-9, '-' and '_'"));
}

// Fails with kExists if another partition than OWN is the reservation NAME.
Status check_free(Env& env, const std::string& pool, const std::string& name,
                  const std::string& own = "") {
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    if (record.pool != pool || record.reservation != name || record.name == own) continue;
    return Error(Code::kExists, str("there is a reservation ", quote(name),
                                    " already; see 'ipuctl reservation list'"));
  }
  return {};
}

// Nobody waits for what is refused in the end.
Status check_share(Env& env, const ReservationRequest& wanted) {
  ledger::PartitionRecord record;
  record.ipus = wanted.ipus;
  record.user = wanted.user;
  return env.ledger.partitions().check_share(record, wanted.most);
}

Status check_may_reserve(const config::PolicyConfig& policy, const ReservationRequest& wanted) {
  const config::TenantConfig* const tenant = config::find_tenant(policy.tenants, wanted.tenant);
  if (tenant == nullptr) return {};
  if (!tenant->may_reserve) {
    return Error(Code::kDenied,
                 str("tenant ", quote(wanted.tenant),
                     " may not reserve IPUs: its may_reserve in"
                     " config.toml is false; start a container with IPU_WAIT=60s instead"));
  }
  if (!tenant->max_wait || wanted.wait <= *tenant->max_wait) return {};
  return Error(Code::kDenied,
               str("--wait ", base::format_duration(wanted.wait), " is longer than ",
                   base::format_duration(*tenant->max_wait), ", which max_wait of tenant ",
                   quote(wanted.tenant), " allows; wait less"));
}

// The ledger checks it again when the partition is recorded.
Status check_share_of_tenant(Env& env, const partitions::NewPartition& partition) {
  if (!partition.reserved->share) return {};
  ledger::PartitionRecord record;
  record.reservation = partition.reserved->name;
  record.tenant = partition.reserved->tenant;
  record.ipus = partition.request.size;
  record.created_ms = base::unix_millis();
  return env.ledger.tenants().check(*partition.reserved->share, record);
}

// Waits until the partition of a new reservation is ACTIVE. One that does not become so is removed.
Status wait_until_active(Env& env, const partitions::NewPartition& partition) {
  const std::string& id = partition.request.id;
  const auto deadline = Deadline::after(partition.pool.timeout);
  const Result<vipu::Grant> grant = env.controller(partition.pool)->wait(id, deadline);
  if (grant.ok()) return {};
  (void)partitions::remove_partition(env, partition.pool, id, vipu::Force::kNo,
                                     Deadline::after(std::chrono::seconds(5)));
  return grant.error();
}

// Returns the pool in which the reservation of REQUEST is being made, or waits for IPUs.
Result<std::optional<std::string>> pool_that_makes(Env& env, const request::Request& request) {
  using Pool = std::optional<std::string>;
  const auto is_asked = [&](const std::string& pool) {
    return request.pool.empty() || request.pool == pool;
  };
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    const bool is_it = record.reservation == request.partition && is_asked(record.pool);
    const bool is_made = is_it && record.state == ledger::PartitionState::kIntent;
    if (is_made && base::is_running(record.owner)) return Pool(record.pool);
  }
  for (const ledger::Waiter& waiter : TRY(waiting(env))) {
    const bool is_it = waiter.container == waiter_of(request.partition);
    if (is_it && is_asked(waiter.resource)) return Pool(waiter.resource);
  }
  return Pool();
}

}  // namespace

std::string waiter_of(const std::string& reservation) {
  return str(kReservationWaiter, reservation);
}

Status check_reservation(const ReservationRequest& wanted) {
  TRY(check_name(wanted.name));
  if (wanted.ipus == 0)
    return Error(Code::kInvalid, "give the number of IPUs with --ipus, such as --ipus 16");
  if (!std::has_single_bit(wanted.ipus)) {
    const uint32_t below = std::bit_floor(wanted.ipus);
    return Error(Code::kInvalid, str("--ipus ", wanted.ipus, " is not a power of two; give ", below,
                                     " or ", 2 * below));
  }
  return partitions::check_gcds(wanted.gcds, wanted.ipus, "--ipus");
}

Status reserve(Env& env, const config::Config& config, const config::PoolConfig& pool,
               const ReservationRequest& wanted) {
  TRY(check_reservation(wanted));
  partitions::NewPartition partition = TRY(partition_of(env, config, pool, wanted));
  TRY(check_may_reserve(config.policy, wanted));
  TRY(check_free(env, pool.name, wanted.name));
  TRY(check_share(env, wanted));
  TRY(end::reconcile_soon(env));
  const auto until = Deadline::after(wanted.wait);
  Turn turn = TRY(
      Turn::await(env,
                  {pool.name, waiter_of(wanted.name), wanted.ipus, wanted.wait,
                   config.policy.max_waiters, "", "--wait", "--wait 5m", wanted.user,
                   pool.backfill ? &pool : nullptr, wanted.tenant, &config.policy.tenants, &pool},
                  until));
  Patience patience = TRY(Patience::of_request(env, pool.name, turn, until));
  config::Wall wall;
  const std::string_view advice =
      wanted.wait.count() == 0 ? "wait with --wait 5m or see 'ipuctl ps'" : kAfterWait;
  for (;;) {
    TRY(check_free(env, pool.name, wanted.name, partition.request.id));
    const Status fits = check_share_of_tenant(env, partition);
    if (!fits.ok()) {
      if (fits.error().code() != Code::kBusy || TRY(patience.wait()) == Next::kGiveUp) return fits;
      continue;
    }
    const auto deadline = Deadline::after(pool.timeout);
    const Status made = attempt(env, config, partition, turn, wall, deadline);
    if (made.ok()) break;
    const Error& error = made.error();
    if (!may_pass(error) || turn.is_cancelled()) return error;
    const bool is_full = error.code() == Code::kBusy && !turn.pinned() && !turn.is_behind();
    if (is_full && gave_back(env, pool, wall, wanted.ipus, deadline)) continue;
    if (error.code() != Code::kBusy && (wanted.wait.count() == 0 || until.passed())) return error;
    if (TRY(patience.wait()) == Next::kTryAgain) continue;
    if (error.code() != Code::kBusy || turn.is_behind()) return error;
    return no_capacity(env, {pool, wanted.ipus, advice, config::wall_text(wall)}, error);
  }
  TRY(wait_until_active(env, partition));
  if (wanted.time.count() == 0) return {};
  const auto record = TRY(env.ledger.partitions().find(pool.name, partition.request.id));
  if (!record) return {};  // somebody has ended it already
  return env.ledger.partitions().set_end(*record, base::unix_millis() + wanted.time.count());
}

Result<request::Request> resolve_reservation(Env& env, const request::Request& request) {
  if (!request.is_reservation) return request;
  request::Request resolved = request;
  std::optional<ledger::PartitionRecord> ended;
  size_t found = 0;
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    if (record.reservation != request.partition) continue;
    if (!request.pool.empty() && record.pool != request.pool) continue;
    if (record.state != ledger::PartitionState::kReady) continue;
    if (ledger::has_ended(record, base::unix_millis())) {
      ended = record;
      continue;
    }
    resolved.pool = record.pool;
    resolved.partition = record.name;
    ++found;
  }
  if (found == 1) return resolved;
  if (found > 1) {
    return Error(Code::kInvalid, str("several pools have a reservation ", quote(request.partition),
                                     "; give IPU_POOL too"));
  }
  const std::optional<std::string> pool = TRY(pool_that_makes(env, request));
  if (pool) {
    return Error(Code::kBusy,
                 str("reservation ", quote(request.partition), " of pool ", quote(*pool),
                     " is still being made; wait for it with IPU_WAIT=60s"));
  }
  if (!ended) {
    return Error(Code::kNotFound, str("there is no reservation ", quote(request.partition),
                                      " that is ready; see 'ipuctl reservation list'"));
  }
  // The lease is refused with when it ended.
  resolved.pool = ended->pool;
  resolved.partition = ended->name;
  return resolved;
}

Result<request::Request> await_reservation(Env& env, const config::Config& config,
                                           const request::Request& request, const Asker& asker) {
  Result<request::Request> resolved = resolve_reservation(env, request);
  const auto is_made = [&] { return !resolved.ok() && resolved.error().code() == Code::kBusy; };
  if (!is_made() || request.wait.count() == 0) return resolved;
  const auto until = Deadline::after(request.wait);
  const std::string resource =
      str(TRY(pool_that_makes(env, request)).value_or(request.pool), "/", request.partition);
  WaitFor what{resource, asker.container, 0, request.wait, config.policy.max_waiters, asker.bundle};
  what.tenant = request.tenant;
  what.tenants = &config.policy.tenants;
  Turn turn = TRY(Turn::await(env, std::move(what), until));
  LedgerWatch watch = TRY(LedgerWatch::start(env));
  while (is_made() && !until.passed()) {
    TRY(turn.join(until));
    TRY(watch.wait(env.retry_time, until));
    resolved = resolve_reservation(env, request);
  }
  TRY(turn.finish());
  if (resolved.ok()) resolved.value().wait = std::max(until.left(), std::chrono::milliseconds(1));
  return resolved;
}

}  // namespace hook::lifecycle::start
