// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/model/faults.h"

#include <algorithm>
#include <array>

namespace vipu::simulator {
namespace {

constexpr std::array kStatusNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Returns whether ACTION decides how the creation or reset of a partition ends.
bool is_outcome(Action action) {
  return action == Action::kErrorState || action == Action::kStuckPending;
}

bool matches(const Fault& fault, std::string_view call, std::string_view partition) {
  if (fault.call != "*" && fault.call != call) return false;
  if (is_outcome(fault.action) && call != "CreatePartition" && call != "ResetPartition") {
    return false;
  }
  if (fault.partition.empty()) return true;
  if (!fault.partition.ends_with('*')) return partition == fault.partition;
  const std::string_view prefix(fault.partition.data(), fault.partition.size() - 1);
  return !partition.empty() && partition.starts_with(prefix);
}

}  // namespace

std::optional<int> status_number(std::string_view name) {
  const auto at = std::find(kStatusNames.begin(), kStatusNames.end(), name);
  if (at == kStatusNames.end()) return std::nullopt;
  return static_cast<int>(at - kStatusNames.begin());
}

const char* status_name(int number) {
  const bool known = number >= 0 && static_cast<size_t>(number) < kStatusNames.size();
  return known ? kStatusNames[static_cast<size_t>(number)] : "UNKNOWN";
}

std::optional<Fault> FaultPlan::hit(std::string_view call, std::string_view partition) {
  for (Counted& counted : faults_) {
    const Fault& fault = counted.fault;
    if (!matches(fault, call, partition)) continue;
    if (fault.times != 0 && counted.hits >= fault.times) continue;
    if (counted.skipped < fault.skip) {
      ++counted.skipped;
      continue;
    }
    // 53 random bits give a number from 0 to 1, without 1.
    if (static_cast<double>(random_() >> 11) * 0x1p-53 >= fault.probability) continue;
    ++counted.hits;
    return fault;
  }
  return std::nullopt;
}

}  // namespace vipu::simulator
