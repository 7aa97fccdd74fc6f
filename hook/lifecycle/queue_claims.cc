// SPDX-License-Identifier: Apache-2.0
// The claims of a request in the books of its fleet, as part of its turn.
#include "hook/lifecycle/queue_turn.h"

#include "base/clock.h"
#include "base/names.h"

namespace hook::lifecycle {

using namespace base::names;

Status Turn::check_first() {
  if (!place_) return {};
  const std::vector<ledger::Waiter> before = TRY(ahead());
  return before.empty() ? Status() : others_wait(before);
}

Status Turn::judge_claim(Result<Before> claimed) {
  const auto before = ahead_in_fleet(std::move(claimed));
  is_behind_ = !before.ok() || !before.value().empty();
  if (!before.ok()) return before.error();
  return is_behind_ ? others_wait(before.value()) : Status();
}

// An earlier attempt, whose answer was lost, may have claimed beside the block that is still
// pinned_.
Status Turn::claim_or_pass(
    const std::function<Result<Before>(const std::optional<vipu::Block>& beside)>& claim) {
  Result<Before> claimed = claim(std::nullopt);
  if (!claimed.ok() || claimed.value().is_cancelled || claimed.value().was_made)
    return judge_claim(std::move(claimed));
  pinned_.reset();
  is_over_limit_ = claimed.value().is_over_limit;
  const std::vector<ledger::Waiter>& first = claimed.value().waiters;
  if (!first.empty() && may_pass(first.front())) claimed = claim(pinned_);
  return judge_claim(std::move(claimed));
}

Status Turn::claim(const fleet::Grant& grant, const KindOf& kind) {
  TRY(claim_or_pass(
      [&](const auto& beside) { return place_->claim(grant, as_waiter(), kind, beside); }));
  if (place_->taken().empty()) place_->hold(what_.shared->timeout);
  return {};
}

Status Turn::claim(const ledger::Lease& lease, const KindOf& kind) {
  if (!place_ || lease.claim.empty()) {
    TRY(kind({}));
    return {};
  }
  return claim(grant_of(env_, lease), kind);
}

fleet::Grant Turn::grant_of_reservation(const std::string& name,
                                        const std::string& partition) const {
  fleet::Grant grant;
  grant.pool = what_.resource;
  grant.id = partition;
  grant.host = env_.ledger.host().tag();
  grant.reservation = name;
  grant.tenant = what_.tenant;
  grant.ipus = what_.ipus;
  grant.since_ms = base::unix_millis();
  return grant;
}

Status Turn::check_claim(const std::string& name, const std::string& partition) {
  if (!place_) return {};
  return claim_or_pass([&](const auto& beside) {
    return place_->may_claim(grant_of_reservation(name, partition), as_waiter(), beside);
  });
}

Status Turn::claim(const std::string& name, const std::string& partition, const KindOf& kind) {
  if (!place_) {
    TRY(kind({}));
    return {};
  }
  return claim(grant_of_reservation(name, partition), kind);
}

void Turn::unclaim() {
  if (place_) place_->unclaim();
}

}  // namespace hook::lifecycle
