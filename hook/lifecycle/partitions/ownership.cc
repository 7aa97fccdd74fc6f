// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/ownership.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

namespace {

// A controller carries out a request for so long after whoever asked is gone.
constexpr int64_t kLateMs = 600'000;

// Returns whether PARTITION may be that of RECORD. A controller can list it before it has all of
// its parts.
bool is_like(const vipu::Partition& partition, const ledger::PartitionRecord& record) {
  if (partition.ready == vipu::ReadyState::kPending)
    return partition.ipus.size() <= record.ipus && partition.gcds <= record.gcds;
  const bool has_size = partition.ipus.empty() || partition.ipus.size() == record.ipus;
  return has_size && std::max(1U, partition.gcds) == record.gcds &&
         partition.reconfigurable == record.reconfigurable;
}

}  // namespace

Result<std::string> random_name(const Env& env, vipu::MadeFor what) {
  std::string number = TRY(base::random_hex(vipu::kNumberDigits / 2));
  return vipu::to_string({what, env.ledger.host().tag(), std::move(number)});
}

bool is_held(const ledger::PartitionRecord& record, const std::string& boot) {
  if (record.state == ledger::PartitionState::kReady) return false;
  return record.boot_id == boot && base::is_running(record.owner);
}

bool may_be_of_others(const ledger::PartitionRecord& record) {
  return config::is_controller(record.source) && !ledger::is_reserved_name(record.name);
}

Result<Unsure> look_for(vipu::Controller& controller, const ledger::PartitionRecord& record,
                        const Deadline& deadline) {
  const std::vector<vipu::Partition> listed = TRY(controller.list(deadline));
  const auto found = std::find_if(listed.begin(), listed.end(), [&](const vipu::Partition& one) {
    return one.id == record.name;
  });
  const bool was_made = record.state != ledger::PartitionState::kIntent;
  if (found == listed.end()) {
    const bool is_old = base::unix_millis() - record.created_ms > kLateMs;
    return was_made || is_old ? Unsure::kEnded : Unsure::kMayCome;
  }
  if (!is_like(*found, record)) return Unsure::kEnded;
  return Error(Code::kBusy,
               str("partition ", quote(record.name), " of pool ", quote(record.pool),
                   " may be another host's, because its ", was_made ? "removal" : "creation",
                   " here was cut short; 'ipuctl partition adopt ", record.name,
                   "' leaves it alone, and 'ipuctl partition remove ", record.name,
                   "' removes it, whoever uses it"));
}

}  // namespace hook::lifecycle::partitions
