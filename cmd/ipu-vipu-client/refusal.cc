// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/refusal.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/names.h"
#include "cmd/ipu-vipu-client/calls.h"
#include "vipu/placement.h"

namespace client {
namespace {

using namespace base::names;

bool may_mean_busy(const RpcStatus& status) {
  switch (status.code) {
    case StatusCode::RESOURCE_EXHAUSTED:
    case StatusCode::FAILED_PRECONDITION:
    case StatusCode::ABORTED:
      return true;
    default:
      break;
  }
  std::string text = status.message;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr const char* kWords[] = {"busy", "in progress", "again", "another", "locked"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
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
  const bool can_be_placed = vipu::check_wanted(occupancy.topology(), wanted).ok();
  if (can_be_placed && !vipu::place(occupancy, wanted)) return Refusal::kFull;
  return unless_full;
}

}  // namespace client
