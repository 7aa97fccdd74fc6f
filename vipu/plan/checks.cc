// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "base/names.h"
#include "base/text.h"
#include "vipu/placement.h"
#include "vipu/plan/internal/checks.h"

namespace vipu::plan {
namespace {

using namespace base::names;

uint64_t divide_up(uint64_t value, uint64_t by) { return value / by + (value % by == 0 ? 0 : 1); }

std::string gigabytes(uint64_t bytes) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f GB", static_cast<double>(bytes) / 1e9);
  return text.data();
}

void add(std::vector<Finding>& findings, const char* id, Level level, std::string text) {
  findings.push_back({id, level, std::move(text)});
}

void check_shards(const Question& question, std::vector<Finding>& findings) {
  const auto check_one = [&](const char* option, uint64_t shards) {
    if (question.split.replicas % shards == 0) return;
    add(findings, "E2", Level::kError,
        str(option, " ", shards, " does not divide the ", question.split.replicas,
            " replicas; give a divisor"));
  };
  check_one("--rts", question.weight_shards);
  check_one("--optimizer-rts", question.optimizer_shards);
}

void check_batch(const Question& question, std::vector<Finding>& findings) {
  if (!question.batch) return;
  const uint64_t stages = question.split.pipeline;
  const uint64_t step = question.split.replicas * question.batch->micro;
  const std::optional<uint64_t> accumulation = accumulation_of(question);
  if (!accumulation) {
    return add(
        findings, "E3", Level::kError,
        str("a batch of ", question.batch->global, " is no multiple of ", question.split.replicas,
            " replicas x ", question.batch->micro, " (--micro); give a multiple of ", step));
  }
  const std::string counted = str(*accumulation, " micro-batches a step for ", stages, " stages");
  if (*accumulation < stages) {
    return add(findings, "E4", Level::kError,
               str(counted, " leave stages without work; give --batch ", stages * step,
                   " or a larger multiple of ", step));
  }
  if (stages == 1 || *accumulation >= 2 * stages) return;
  const uint64_t percent = (stages - 1) * 100 / (*accumulation + stages - 1);
  add(findings, "E4", Level::kWarning,
      str(counted, ": each stage waits for ", percent, "% of the time; --batch ", 2 * stages * step,
          " or more makes it less"));
}

void check_size(const Question& question, const Partitions& partitions,
                std::vector<Finding>& findings) {
  const uint64_t replica = question.split.of_replica();
  if (partitions.count == 0) {
    return add(findings, "E5", Level::kError,
               str("a replica of ", replica, " IPUs fits no partition, of which the largest has ",
                   question.largest, "; lower --tensor or --pipeline"));
  }
  if (replica > kIpusPerDomain) {
    add(findings, "E5", Level::kWarning,
        str("a replica of ", replica, " IPUs leaves its IPU-Link domain, which has ",
            kIpusPerDomain, ": what its IPUs exchange crosses gateways"));
  }
  if (partitions.count == 1) return;
  add(findings, "E6", Level::kError,
      str(question.split.ipus(), " IPUs are more than the ", question.largest,
          " of the largest partition: a gang of ", partitions.count, " partitions of ",
          partitions.size, " IPUs, with up to ", partitions.replicas_each,
          " replicas each, while one container has one partition; --replicas ",
          std::bit_floor(question.largest) / replica, " or fewer fit one"));
}

void check_memory(const std::optional<Memory>& memory, std::vector<Finding>& findings) {
  if (!memory) return;
  if (memory->streamed > kExchangeMemory) {
    add(findings, "E7", Level::kError,
        str("weights and optimizer state take about ", gigabytes(memory->streamed),
            " of each IPU's ", gigabytes(kExchangeMemory),
            " exchange memory; raise --rts, --optimizer-rts, --tensor or --pipeline"));
  }
  if (memory->resident > memory->budget) {
    add(findings, "E7", Level::kError,
        str("weights take about ", gigabytes(memory->resident), " of the ",
            gigabytes(memory->budget), " that they may have of an IPU's memory; give --phases ",
            memory->least_phases, " or more, or auto"));
  }
}

void check_layers(const Question& question, const std::optional<Memory>& memory,
                  std::vector<Finding>& findings) {
  if (question.model.layers == 0) return;
  const uint64_t stages = question.split.pipeline;
  const uint64_t phases = memory ? memory->phases : std::max<uint64_t>(question.phases, 1);
  if (question.model.layers % (stages * phases) == 0) return;
  std::string parts = str(stages, " stages");
  if (phases > 1) parts += str(" x ", phases, " phases");
  add(findings, "W2", Level::kWarning,
      str(question.model.layers, " layers are no multiple of ", parts,
          ": the parts are not equal, and the largest needs more"));
}

void check_width(const Question& question, std::vector<Finding>& findings) {
  const auto check_one = [&](const char* what, uint64_t value) {
    if (value % question.split.tensor == 0) return;
    add(findings, "W3", Level::kWarning,
        str(what, " ", value, " is no multiple of --tensor ", question.split.tensor));
  };
  check_one("--heads", question.model.heads);
  check_one("--hidden", question.model.hidden);
}

}  // namespace

Partitions partitions_for(const Question& question) {
  const Split& split = question.split;
  Partitions partitions;
  const uint64_t fit = std::bit_floor(question.largest) / split.of_replica();
  if (fit == 0) return partitions;
  partitions.count = divide_up(split.replicas, fit);
  partitions.replicas_each = divide_up(split.replicas, partitions.count);
  partitions.size = std::bit_ceil(partitions.replicas_each * split.of_replica());
  partitions.idle = partitions.count * partitions.size - split.ipus();
  partitions.domains = divide_up(partitions.size, kIpusPerDomain);
  return partitions;
}

std::optional<uint64_t> accumulation_of(const Question& question) {
  if (!question.batch) return std::nullopt;
  const uint64_t step = question.split.replicas * question.batch->micro;
  if (question.batch->global % step != 0) return std::nullopt;
  return question.batch->global / step;
}

std::optional<Memory> memory_for(const Question& question) {
  const Model& model = question.model;
  if (model.parameters == 0) return std::nullopt;
  const uint64_t replica = question.split.of_replica();
  const uint64_t weights = model.parameters * model.weight_bytes;
  const uint64_t optimizer = model.parameters * model.optimizer_bytes;
  const uint64_t optimizer_share = divide_up(optimizer, replica * question.optimizer_shards);
  Memory memory;
  memory.weights = divide_up(weights, replica);
  memory.all = memory.weights + optimizer_share;
  memory.streamed = divide_up(weights, replica * question.weight_shards) + optimizer_share;
  memory.budget = kProcessorMemory / 100 * question.percent;
  memory.least_phases = divide_up(memory.weights, memory.budget);
  memory.phases = question.phases == 0 ? memory.least_phases : question.phases;
  memory.resident = divide_up(memory.weights, memory.phases);
  const bool fits = memory.resident <= memory.budget && memory.streamed <= kExchangeMemory;
  memory.verdict = !fits                      ? Verdict::kDoesNotFit
                   : memory.least_phases == 1 ? Verdict::kFits
                                              : Verdict::kNeedsPhases;
  return memory;
}

std::vector<Finding> check(const Question& question) {
  std::vector<Finding> findings;
  const std::optional<Memory> memory = memory_for(question);
  check_shards(question, findings);
  check_batch(question, findings);
  check_size(question, partitions_for(question), findings);
  check_memory(memory, findings);
  check_layers(question, memory, findings);
  check_width(question, findings);
  return findings;
}

}  // namespace vipu::plan
