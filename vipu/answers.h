// SPDX-License-Identifier: Apache-2.0
// What ipu-vipu-endpoint answers: the facts of one partition, as its lease has them. Written by the
// product for the program alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vipu/types.h"

namespace vipu {

struct Answers {
  std::string version;  // the controller's
  Partition partition;
  std::vector<IpuofConfig> gcds;  // of all its GCDs
  bool operator==(const Answers&) const = default;
};

inline constexpr size_t kMaxAnswers = size_t{4} << 20;  // bytes

std::string to_text(const Answers& answers);
// Returns kInvalid if TEXT is not what to_text() returns.
base::Result<Answers> parse_answers(std::string_view text);

}  // namespace vipu
