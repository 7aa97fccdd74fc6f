// SPDX-License-Identifier: Apache-2.0
// What the training of a model needs, by how the model is split over IPUs. Pure. All of memory is
// an estimate: it counts weights and optimizer state, and leaves a share to all else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace vipu::plan {

// The largest numbers of a question. Products of those that are multiplied fit into 64 bits.
inline constexpr uint64_t kMaxDegree = 65'535;
inline constexpr uint64_t kMaxBatch = 1'000'000'000;
inline constexpr uint64_t kMaxParameters = 1'000'000'000'000'000;
inline constexpr uint64_t kMaxBytes = 64;  // of one parameter

// IPUs of the largest partition that V-IPU makes, and of the IPU-Link domain that a replica should
// not leave.
inline constexpr uint64_t kLargestPartition = 256;
// Memory of an IPU, in bytes: in the processor of a GC200 or Bow, and its quarter of the 256 GB of
// exchange memory of an IPU-Machine.
inline constexpr uint64_t kProcessorMemory = 900'000'000;
inline constexpr uint64_t kExchangeMemory = 64'000'000'000;

// Each layer is split over TENSOR IPUs, and the layers over PIPELINE stages. REPLICAS train at
// once.
struct Split {
  uint64_t tensor = 1;
  uint64_t pipeline = 1;
  uint64_t replicas = 1;
  [[nodiscard]] uint64_t of_replica() const { return tensor * pipeline; }
  [[nodiscard]] uint64_t ipus() const { return of_replica() * replicas; }
  bool operator==(const Split&) const = default;
};

struct Batch {
  uint64_t global = 1;  // samples of all replicas in one step of the weights
  uint64_t micro = 1;   // samples that one replica takes at a time
};

// 0: unknown, and what needs it is not checked.
struct Model {
  uint64_t parameters = 0;
  uint64_t layers = 0;
  uint64_t hidden = 0;
  uint64_t heads = 0;
  uint64_t weight_bytes = 2;     // of one parameter: fp16
  uint64_t optimizer_bytes = 8;  // of one parameter: Adam; 12 with a master copy in fp32
};

struct Question {
  Split split = {};
  std::optional<Batch> batch = {};
  Model model = {};
  uint64_t weight_shards = 1;     // replicated tensor sharding of the weights over so many replicas
  uint64_t optimizer_shards = 1;  // and of the optimizer state
  uint64_t phases = 0;            // 0: as few as fit
  uint64_t percent = 50;          // of the processor's memory that weights may have
  uint64_t largest = kLargestPartition;  // partition, in IPUs; a power of two
  std::vector<std::string> types = {};   // of the pool's IPUs, each once
};

enum class Level { kError, kWarning };
// ID is E2 to E7 or W1 to W4. With an error, nothing can be trained so.
struct Finding {
  std::string id;
  Level level = Level::kError;
  std::string text;
};

// COUNT partitions of SIZE IPUs, with up to REPLICAS_EACH whole replicas. Several are a gang. COUNT
// is 0 if not even one replica fits.
struct Partitions {
  uint64_t count = 0;
  uint64_t size = 0;  // a power of two
  uint64_t replicas_each = 0;
  uint64_t idle = 0;     // IPUs of all of them that no replica uses
  uint64_t domains = 0;  // IPU-Link domains of each
};

// What poprun wants for one partition: as many INSTANCES, which have equally many replicas, on as
// many HOSTS. Graphcore's scripts take USUAL_HOSTS for this size, if there are replicas enough.
struct Launch {
  uint64_t usual_hosts = 1;
  uint64_t hosts = 1;
  uint64_t instances = 1;
};

enum class Verdict { kFits, kNeedsPhases, kDoesNotFit };
// Returns "FITS IN-PROCESSOR", "NEEDS PHASED EXECUTION" or "DOES NOT FIT".
[[nodiscard]] const char* name_of(Verdict verdict);

// Bytes of each IPU, rounded up.
struct Memory {
  uint64_t weights = 0;       // that it works on
  uint64_t all = 0;           // these, and its share of the optimizer state
  uint64_t resident = 0;      // the weights of one phase
  uint64_t streamed = 0;      // its shares of weights and optimizer state in exchange memory
  uint64_t budget = 0;        // for what is resident
  uint64_t least_phases = 1;  // with which this fits
  uint64_t phases = 1;        // asked for, or the least
  Verdict verdict = Verdict::kFits;
  [[nodiscard]] bool fits_with_optimizer() const { return all <= budget; }
};

struct Plan {
  Split split;
  Partitions partitions;
  Launch launch;
  std::optional<uint64_t> accumulation;  // micro-batches of a replica in one step
  std::optional<double> bubble;          // share of the time for which a stage waits, from 0 to 1
  std::optional<Memory> memory;          // unset: the parameters are unknown
  std::vector<Finding> findings;
  // See nearest().
  std::vector<Split> nearest;
  [[nodiscard]] bool has_errors() const;
};

// Returns the plan. Fails with kInvalid only if a number of QUESTION is out of its bounds (E1).
base::Result<Plan> make_plan(const Question& question);

// Returns the splits that fill the partition of the asked one better. They are legal, and differ
// from it in one of tensor, pipeline and replicas, which is larger: for each of these the split
// with the fewest idle IPUs; of all, fewest idle IPUs first. A split is legal if its tensor is a
// power of two or the asked one, and if it has no finding that the asked one lacks. Returns nothing
// if the asked one leaves no IPU idle, or needs several partitions.
[[nodiscard]] std::vector<Split> nearest(const Question& question);

// Returns the smallest IPU-POD that has a partition of SIZE IPUs: "POD16", "POD64".
[[nodiscard]] std::string pod_for(uint64_t size);

}  // namespace vipu::plan
