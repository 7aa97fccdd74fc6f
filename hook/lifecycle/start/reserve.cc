// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/reserve.h"

#include "base/names.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/partitions/warm.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/start/patience.h"
#include "hook/lifecycle/start/shortage_text.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

partitions::NewPartition partition_of(const config::PoolConfig& pool,
                                      const ReservationRequest& wanted) {
  partitions::NewPartition partition;
  partition.pool = pool;
  partition.request.id = wanted.name;
  partition.request.size = wanted.ipus;
  partition.request.allocation = pool.allocation;
  partition.request.cluster = pool.cluster;
  partition.reserved = partitions::Reserved{wanted.owner, wanted.time};
  return partition;
}

// Returns whether the request may succeed later. A record of an earlier attempt, whose answer was
// lost, is a leftover that the queue removes.
bool may_pass(const Error& error, bool is_first) {
  return error.code() == Code::kBusy || partitions::is_silence(error) ||
         (error.code() == Code::kExists && !is_first);
}

// Returns whether warm partitions were given back for the request.
bool gave_back(Env& env, const config::PoolConfig& pool, uint32_t ipus) {
  const Result<partitions::GivenBack> given =
      partitions::give_back_warm(env, pool, ipus, Deadline::after(pool.timeout));
  return given.ok() && given.value() == partitions::GivenBack::kSome;
}

Error ended(const ledger::PartitionRecord& record) {
  return {Code::kDenied, str("reservation ", quote(record.name), " ended at ",
                             base::rfc3339(record.until_ms), "; reserve again, or extend it with",
                             " 'ipuctl reservation extend ", record.name, " --for TIME'")};
}

bool is_meant(const ledger::PartitionRecord& record, const request::Request& request) {
  return record.name == request.partition && record.reserved &&
         (request.pool.empty() || record.pool == request.pool);
}

}  // namespace

std::string waiter_of(const std::string& reservation) {
  return str(kReservationWaiter, reservation);
}

Status reserve(Env& env, const config::Config& config, const config::PoolConfig& pool,
               const ReservationRequest& wanted) {
  const partitions::NewPartition partition = partition_of(pool, wanted);
  TRY(partitions::check_partition(partition));
  if (TRY(env.ledger.partitions().find(pool.name, wanted.name))) {
    return Error(Code::kExists, str("the name ", quote(wanted.name), " is taken in pool ",
                                    quote(pool.name), "; see 'ipuctl partition list'"));
  }
  TRY(end::reconcile_soon(env));
  const auto until = Deadline::after(wanted.wait);
  Turn turn = TRY(Turn::await(env,
                              {pool.name, waiter_of(wanted.name), wanted.ipus, wanted.wait,
                               config.policy.max_waiters, "", "--wait", "--wait 5m"},
                              until));
  Patience patience = TRY(Patience::of_request(env, pool.name, turn, until));
  const std::string_view advice =
      wanted.wait.count() == 0 ? "wait with --wait 5m or see 'ipuctl ps'" : kAfterWait;
  for (bool is_first = true;; is_first = false) {
    const Status made = partitions::create_partition(env, partition, Deadline::after(pool.timeout));
    if (made.ok()) return {};
    const Error& error = made.error();
    if (!may_pass(error, is_first)) return error;
    if (error.code() == Code::kBusy && gave_back(env, pool, wanted.ipus)) continue;
    if (error.code() != Code::kBusy && (wanted.wait.count() == 0 || until.passed())) return error;
    if (TRY(patience.wait()) == Next::kTryAgain) continue;
    if (error.code() != Code::kBusy) return error;
    return no_capacity(env, {pool, wanted.ipus, advice}, error);
  }
}

Result<request::Request> resolve_reservation(Env& env, const request::Request& request) {
  if (request.partition.empty()) return request;
  request::Request resolved = request;
  size_t found = 0;
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    if (!is_meant(record, request)) continue;
    if (ledger::has_ended(record, base::unix_millis())) return ended(record);
    if (request.is_reservation) resolved.pool = record.pool;
    ++found;
  }
  if (!request.is_reservation || found == 1) return resolved;
  if (found > 1) {
    return Error(Code::kInvalid, str("several pools have a reservation ", quote(request.partition),
                                     "; give IPU_POOL too"));
  }
  return Error(Code::kNotFound, str("there is no reservation ", quote(request.partition),
                                    "; see 'ipuctl reservation list'"));
}

}  // namespace hook::lifecycle::start
