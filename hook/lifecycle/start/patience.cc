// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/patience.h"

#include <algorithm>

#include "base/names.h"
#include "hook/lifecycle/end/release.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

bool has_port(const ledger::LeasedIpu& ipu, uint16_t port) {
  return port != 0 && (ipu.server_port == port || ipu.rdma_port == port);
}

// Returns whether the ledger refuses to lease both: the IPU, or a port of it, would have two
// holders.
bool exclude_each_other(const ledger::LeasedIpu& one, const ledger::LeasedIpu& other,
                        bool same_pool) {
  if (one.address != other.address) return false;
  // A card has no ports, and is the same in each pool.
  const bool are_cards = one.server_port + one.rdma_port + other.server_port + other.rdma_port == 0;
  return ((same_pool || are_cards) && one.device == other.device) ||
         has_port(one, other.server_port) || has_port(one, other.rdma_port);
}

}  // namespace

Patience::Patience(Env& env, std::string pool, Turn* turn, const Deadline& until,
                   milliseconds grace, LedgerWatch watch)
    : env_(env),
      pool_(std::move(pool)),
      turn_(turn),
      until_(until),
      grace_(Deadline::after(grace)),
      watch_(std::move(watch)) {}

Result<Patience> Patience::of_request(Env& env, const std::string& pool, Turn& turn,
                                      const Deadline& until, milliseconds grace) {
  LedgerWatch watch = TRY(LedgerWatch::start(env));
  return Patience(env, pool, &turn, until, grace, std::move(watch));
}

Result<Patience> Patience::for_ipus(Env& env, const std::string& pool,
                                    std::vector<ledger::LeasedIpu> ipus, const Deadline& until,
                                    milliseconds grace) {
  LedgerWatch watch = TRY(LedgerWatch::start(env));
  Patience patience(env, pool, nullptr, until, std::max(grace, until.left()), std::move(watch));
  patience.ipus_ = std::move(ipus);
  return patience;
}

Result<Next> Patience::wait() {
  if (turn_ == nullptr || until_.passed()) return wait_for_releases();
  TRY(turn_->join(until_));
  TRY(turn_->wait_for_room(watch_, env_.retry_time, until_));
  // A holder may have died meanwhile. A failure may pass while the request still waits; the last
  // attempt reports it.
  (void)end::make_room(env_, pool_);
  return Next::kTryAgain;
}

Result<bool> Patience::is_releasing() const {
  if (turn_ == nullptr) return is_releasing_ipus();
  return TRY(end::releases_of(env_, pool_)) == end::Releases::kUnderWay;
}

Result<bool> Patience::is_releasing_ipus() const {
  const std::vector<ledger::Lease> leases = TRY(env_.ledger.live());
  return std::any_of(leases.begin(), leases.end(), [&](const ledger::Lease& lease) {
    if (lease.state != ledger::LeaseState::kReleasing) return false;
    return std::any_of(lease.devices.begin(), lease.devices.end(), [&](const auto& held) {
      return std::any_of(ipus_.begin(), ipus_.end(), [&](const auto& wanted) {
        return exclude_each_other(held, wanted, lease.pool == pool_);
      });
    });
  });
}

Result<Next> Patience::wait_for_releases() {
  if (TRY(end::make_room(env_, pool_)) == end::Room::kMore) return Next::kTryAgain;
  if (grace_.passed()) return Next::kGiveUp;
  if (TRY(is_releasing())) {
    TRY(watch_.wait(env_.retry_time, grace_));
    return Next::kTryAgain;
  }
  if (looked_again_ || TRY(watch_.look()) == News::kNone) return Next::kGiveUp;
  looked_again_ = true;
  return Next::kTryAgain;
}

void tell_wait(Env& env, const ledger::Lease& lease, const Error& error) {
  (void)env.ledger.events().record(lease, str("waits for the controller: ", error.message()));
}

}  // namespace hook::lifecycle::start
