// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/abandon.h"

#include "base/names.h"
#include "vipu/controller.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kReleaseTime{5000};  // to undo a start

}  // namespace

// A name that was taken belongs to a partition that is not ours; a warm partition existed before.
end::PartitionFate fate_after(const ledger::Lease& lease, const Error& error) {
  if (!ledger::is_name_for(lease.partition, lease.id)) return end::PartitionFate::kMayExist;
  if (vipu::made_nothing(error)) return end::PartitionFate::kNeverMade;
  return error.code() == Code::kBusy ? end::PartitionFate::kRefused : end::PartitionFate::kMayExist;
}

Error abandon(Env& env, ledger::Lease lease, const Error& error, end::PartitionFate partition) {
  env.ledger.note(lease.id, ledger::EventKind::kError, error.message());
  (void)end::release(env, std::move(lease), error.message(), Deadline::after(kReleaseTime),
                     partition);
  return error;
}

SetAside::~SetAside() {
  for (auto& [lease, why] : leases_) {
    (void)abandon(env_, std::move(lease), why, end::PartitionFate::kMayExist);
  }
}

}  // namespace hook::lifecycle::start
