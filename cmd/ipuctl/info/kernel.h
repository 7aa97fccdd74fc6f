// SPDX-License-Identifier: Apache-2.0
// What of a kernel matters to containers with IPUs, as its files tell it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ipuctl::info {

struct Feature {
  std::string name;              // "macvlan"
  std::optional<bool> is_there;  // unset: no file tells
  std::string says;              // one line: how it is there, or why that is unknown
};

// Returns the features of the running kernel, whose release is RELEASE ("6.1.0-18-amd64"), in a
// fixed order. ROOT is before each path; empty: this host's files.
[[nodiscard]] std::vector<Feature> look_at_kernel(const std::string& root,
                                                  const std::string& release);

}  // namespace ipuctl::info
