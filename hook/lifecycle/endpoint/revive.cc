// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/endpoint/revive.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/endpoint/endpoint.h"

namespace hook::lifecycle::endpoint {
namespace {

using namespace base::names;

// Returns the lease with this id, if its container runs.
Result<std::optional<ledger::Lease>> find_running(Env& env, const std::string& id) {
  std::optional<ledger::Lease> lease = TRY(env.ledger.find(id));
  const bool runs =
      lease && lease->state == ledger::LeaseState::kRunning && base::is_running(lease->owner);
  if (!runs) lease.reset();
  return lease;
}

Status start_again(Env& env, const ledger::Lease& lease, const ledger::Endpoint& ended,
                   const Deadline& deadline) {
  TRY(start_endpoint(env, lease, lease.owner, deadline));
  const std::optional<base::ProcessId> now = TRY(env.ledger.endpoints().find(lease.id));
  if (now && *now != ended.process) return {};
  return Error(Code::kNotFound, "the file with its answers is gone; start the container again");
}

}  // namespace

Result<std::vector<ledger::Endpoint>> find_ended(Env& env, Which which) {
  std::vector<ledger::Endpoint> endpoints = TRY(env.ledger.endpoints().all());
  const int64_t now = base::unix_millis();
  std::erase_if(endpoints, [&](const ledger::Endpoint& endpoint) {
    const bool is_early = which == Which::kDue && !ledger::is_due(endpoint.retry_ms, now);
    return is_early || base::is_running(endpoint.process);
  });
  return endpoints;
}

Result<Revived> revive(Env& env, const ledger::Endpoint& ended, const Deadline& deadline) {
  const std::optional<ledger::Lease> lease = TRY(find_running(env, ended.lease));
  if (!lease) return Revived::kNo;
  const Result<uint32_t> attempts = env.ledger.endpoints().begin_again(ended);
  if (!attempts.ok() && attempts.error().code() == Code::kBusy) return Revived::kNo;
  const uint32_t count = TRY(attempts);
  const Status started = start_again(env, *lease, ended, deadline);
  // What ended meanwhile needs no endpoint.
  if (!started.ok() && !TRY(find_running(env, ended.lease))) return Revived::kNo;
  const std::string text =
      str("the V-IPU endpoint had ended; attempt ", count,
          " in a row to start it again: ", started.ok() ? "it answers" : started.error().message());
  TRY(env.ledger.events().record(*lease, text));
  if (!started.ok()) return started.error();
  return Revived::kYes;
}

}  // namespace hook::lifecycle::endpoint
