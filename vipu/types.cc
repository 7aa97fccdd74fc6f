// SPDX-License-Identifier: Apache-2.0
#include "vipu/types.h"

#include "vipu/wire_values.h"

namespace vipu {

const char* name_of(ReadyState state) {
  switch (state) {
    case ReadyState::kPending:
      return "PENDING";
    case ReadyState::kActive:
      return "ACTIVE";
    case ReadyState::kRemoved:
      return "REMOVED";
    case ReadyState::kError:
      return "ERROR";
    case ReadyState::kUndefined:
      break;
  }
  return "UNDEFINED";
}

std::string to_ipuof_file(const IpuofConfig& config) {
  return base::to_pretty_text(wire::to_json(config));
}

}  // namespace vipu
