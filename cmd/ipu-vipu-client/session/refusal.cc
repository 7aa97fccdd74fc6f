// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/session/refusal.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/names.h"
#include "cmd/ipu-vipu-client/session/calls.h"
#include "vipu/placement.h"

namespace client {
namespace {

using namespace base::names;

// Returns whether STATUS or its text names another operation.
bool names_operation(const RpcStatus& status) {
  if (status.code == StatusCode::ABORTED) return true;
  std::string text = status.message;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr const char* kWords[] = {"busy", "in progress", "again", "another", "locked"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

bool may_mean_busy(const RpcStatus& status) {
  return status.code == StatusCode::RESOURCE_EXHAUSTED ||
         status.code == StatusCode::FAILED_PRECONDITION || names_operation(status);
}

// Returns whether no partition of ALLOCATION is among ALL. One whose allocation is not listed may
// be.
bool is_unused(const std::string& allocation, const std::vector<vipu::Partition>& all) {
  return !allocation.empty() && std::none_of(all.begin(), all.end(), [&](const auto& one) {
    return one.allocation.empty() || one.allocation == allocation;
  });
}

// Returns whether STATUS may mean that ALLOCATION is full, whose size no call tells: it holds
// partitions, and the code does not say that the request is wrong.
bool may_mean_full(const std::string& allocation, const std::vector<vipu::Partition>& all,
                   const RpcStatus& status) {
  const bool is_wrong =
      status.code == StatusCode::INVALID_ARGUMENT || status.code == StatusCode::PERMISSION_DENIED ||
      status.code == StatusCode::UNAUTHENTICATED || status.code == StatusCode::UNIMPLEMENTED;
  return !allocation.empty() && !is_wrong &&
         std::any_of(all.begin(), all.end(),
                     [&](const auto& one) { return one.allocation == allocation; });
}

// Returns whether somebody has one of IPUS by now.
bool is_any_held(const std::vector<vipu::ChosenIpu>& ipus, const vipu::Occupancy& occupancy) {
  return std::any_of(ipus.begin(), ipus.end(), [&](const vipu::ChosenIpu& ipu) {
    const std::optional<uint32_t> number = occupancy.topology().number_of(ipu.place);
    return number && !occupancy.is_free(*number);
  });
}

}  // namespace

Refusal judge(Connection& connection, const vipu::PartitionRequest& request,
              const RpcStatus& status) {
  const Refusal unless_full = may_mean_busy(status) ? Refusal::kBusy : Refusal::kOther;
  const Result<vipu::Survey> survey = client::survey(connection);
  if (!survey.ok()) return unless_full;
  const std::vector<vipu::Partition>& all = survey.value().partitions;
  const bool is_there =
      std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.id == request.id; });
  if (is_there) return Refusal::kMade;
  const std::vector<uint32_t>& domains = survey.value().domains;
  const uint32_t ipus = std::accumulate(domains.begin(), domains.end(), 0U);
  if (ipus != 0 && request.size > ipus) return Refusal::kNeverFits;
  const vipu::Occupancy occupancy = vipu::Occupancy::of(survey.value());
  const vipu::Wanted wanted{request.size, request.segments};
  const bool is_full =
      is_any_held(request.ipus, occupancy) ||
      (vipu::check_wanted(occupancy.topology(), wanted).ok() && !vipu::place(occupancy, wanted));
  // Without so many free IPUs, others may give theirs back, or agents may come back.
  const bool lacks_room = status.code == StatusCode::RESOURCE_EXHAUSTED &&
                          occupancy.free_ipus() >= request.size && !names_operation(status);
  if (lacks_room && is_unused(request.allocation, all)) return Refusal::kUnused;
  if (is_full) return Refusal::kFull;
  return may_mean_full(request.allocation, all, status) ? Refusal::kBusy : unless_full;
}

}  // namespace client
