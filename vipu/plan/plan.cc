// SPDX-License-Identifier: Apache-2.0
#include "vipu/plan/plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/names.h"
#include "base/text.h"
#include "vipu/placement.h"
#include "vipu/plan/internal/checks.h"

namespace vipu::plan {
namespace {

using namespace base::names;

Status check_bounds(std::string_view what, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return {};
  return Error(Code::kInvalid, str(what, " is ", value, "; give ", least, " to ", most));
}

Status check_bounds(const Question& question) {
  const Split& split = question.split;
  TRY(check_bounds("tensor", split.tensor, 1, kMaxDegree));
  TRY(check_bounds("pipeline", split.pipeline, 1, kMaxDegree));
  TRY(check_bounds("replicas", split.replicas, 1, kMaxDegree));
  TRY(check_bounds("rts", question.weight_shards, 1, kMaxDegree));
  TRY(check_bounds("optimizer-rts", question.optimizer_shards, 1, kMaxDegree));
  TRY(check_bounds("phases", question.phases, 0, kMaxDegree));
  TRY(check_bounds("memory-percent", question.percent, 1, 100));
  TRY(check_bounds("parameters", question.model.parameters, 0, kMaxParameters));
  TRY(check_bounds("layers", question.model.layers, 0, kMaxDegree));
  TRY(check_bounds("hidden", question.model.hidden, 0, kMaxDegree));
  TRY(check_bounds("heads", question.model.heads, 0, kMaxDegree));
  TRY(check_bounds("weight-bytes", question.model.weight_bytes, 1, kMaxBytes));
  TRY(check_bounds("optimizer-bytes", question.model.optimizer_bytes, 0, kMaxBytes));
  TRY(check_bounds("largest partition", question.largest, 1, kMaxDegree));
  if (!question.batch) return {};
  TRY(check_bounds("batch", question.batch->global, 1, kMaxBatch));
  return check_bounds("micro", question.batch->micro, 1, kMaxBatch);
}

// Graphcore's scripts start so many hosts.
uint64_t usual_hosts(uint64_t ipus) {
  if (ipus <= 16) return 1;
  if (ipus <= 64) return 4;
  if (ipus <= 128) return 8;
  return 16 * ((ipus + kLargestPartition - 1) / kLargestPartition);
}

Launch launch_for(const Partitions& partitions) {
  Launch launch;
  if (partitions.count == 0) return launch;
  launch.usual_hosts = usual_hosts(partitions.size);
  launch.hosts = std::gcd(launch.usual_hosts, partitions.replicas_each);
  launch.instances = launch.hosts;
  return launch;
}

// Returns "t8 p8 r4 (256 IPUs, none idle)".
std::string split_text(const Split& split, uint64_t size) {
  const uint64_t idle = size - split.ipus();
  return str("t", split.tensor, " p", split.pipeline, " r", split.replicas, " (", split.ipus(),
             " IPUs, ", idle == 0 ? "none" : str(idle), " idle)");
}

void add_pool_findings(const Question& question, Plan& plan) {
  const Partitions& partitions = plan.partitions;
  if (partitions.idle > 0) {
    const std::string whole =
        partitions.count == 1 ? std::string("a partition") : str(partitions.count, " partitions");
    std::string text = str(question.split.ipus(), " IPUs leave ", partitions.idle, " idle of ",
                           whole, " of ", partitions.size);
    std::vector<std::string> splits;
    for (const Split& split : plan.nearest) splits.push_back(split_text(split, partitions.size));
    if (!splits.empty()) text += str("; nearest: ", base::join(splits, ", "));
    plan.findings.push_back({"W1", Level::kWarning, std::move(text)});
  }
  if (question.types.size() > 1) {
    plan.findings.push_back(
        {"W4", Level::kWarning,
         str("the pool has IPUs of several types, and a partition may have any of them: ",
             base::join(question.types, ", "))});
  }
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "FITS IN-PROCESSOR";
    case Verdict::kNeedsPhases:
      return "NEEDS PHASED EXECUTION";
    case Verdict::kDoesNotFit:
      break;
  }
  return "DOES NOT FIT";
}

bool Plan::has_errors() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.level == Level::kError; });
}

Result<Plan> make_plan(const Question& question) {
  TRY(check_bounds(question));
  Plan plan;
  plan.split = question.split;
  plan.partitions = partitions_for(question);
  plan.launch = launch_for(plan.partitions);
  plan.accumulation = accumulation_of(question);
  const auto stages = static_cast<double>(question.split.pipeline);
  if (plan.accumulation)
    plan.bubble = (stages - 1) / (static_cast<double>(*plan.accumulation) + stages - 1);
  plan.memory = memory_for(question);
  plan.findings = check(question);
  plan.nearest = nearest(question);
  add_pool_findings(question, plan);
  return plan;
}

std::string pod_for(uint64_t size) {
  if (size <= 16) return "POD16";
  return str("POD", std::max<uint64_t>(std::bit_ceil(size), kIpusPerDomain));
}

}  // namespace vipu::plan
