// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "vipu/plan/internal/checks.h"

namespace vipu::plan {
namespace {

using Complaint = std::pair<std::string, Level>;

std::set<Complaint> complaints(const Question& question) {
  std::set<Complaint> all;
  for (const Finding& finding : check(question)) all.emplace(finding.id, finding.level);
  return all;
}

// Sets MEMBER to the largest legal value with which the split still fits the partition.
std::optional<Split> fill(Question question, uint64_t Split::*member, uint64_t size,
                          const std::set<Complaint>& known) {
  const uint64_t asked = question.split.*member;
  const uint64_t most = std::min(size / (question.split.ipus() / asked), kMaxDegree);
  for (uint64_t value = most; value > asked; --value) {
    if (member == &Split::tensor && !std::has_single_bit(value)) continue;
    question.split.*member = value;
    const std::set<Complaint> found = complaints(question);
    if (std::includes(known.begin(), known.end(), found.begin(), found.end()))
      return question.split;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Split> nearest(const Question& question) {
  std::vector<Split> splits;
  const Partitions partitions = partitions_for(question);
  if (partitions.count != 1 || partitions.idle == 0) return splits;
  const std::set<Complaint> known = complaints(question);
  for (uint64_t Split::*member : {&Split::tensor, &Split::pipeline, &Split::replicas}) {
    const std::optional<Split> split = fill(question, member, partitions.size, known);
    if (split) splits.push_back(*split);
  }
  std::stable_sort(splits.begin(), splits.end(),
                   [](const Split& a, const Split& b) { return a.ipus() > b.ipus(); });
  return splits;
}

}  // namespace vipu::plan
