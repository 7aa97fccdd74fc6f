// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/resets.h"

#include <fstream>

#include "base/names.h"
#include "base/text.h"
#include "tests/fault/places.h"

namespace fault {

using namespace base::names;

Status Resets::begin() const {
  *before_ = TRY(all());
  return {};
}

Result<size_t> Resets::count() const {
  const size_t now = TRY(all());
  return now - *before_;
}

Result<size_t> Resets::all() const {
  std::ifstream log(kSimulatorLog);
  if (!log) return Error(Code::kNotFound, str("open ", kSimulatorLog));
  const std::string of_partition = str("\"partition\":\"", partition_, "\"");
  size_t count = 0;
  for (std::string line; std::getline(log, line);) {
    const bool is_reset = line.find("\"method\":\"ResetPartition\"") != std::string::npos &&
                          line.find("\"status\":\"OK\"") != std::string::npos;
    if (is_reset && line.find(of_partition) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace fault
