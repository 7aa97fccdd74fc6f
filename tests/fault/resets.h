// SPDX-License-Identifier: Apache-2.0
// What the simulated controller has reset, by its own log.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"

namespace fault {

// Counts the resets of one partition from begin() on. Copies are one counter.
class Resets {
 public:
  explicit Resets(std::string partition) : partition_(std::move(partition)) {}
  base::Status begin() const;
  [[nodiscard]] base::Result<size_t> count() const;

 private:
  [[nodiscard]] base::Result<size_t> all() const;

  std::string partition_;
  std::shared_ptr<size_t> before_ = std::make_shared<size_t>(0);
};

}  // namespace fault
