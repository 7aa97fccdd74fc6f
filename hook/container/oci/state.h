// SPDX-License-Identifier: Apache-2.0
// The container state that an OCI runtime gives to a hook on its standard input.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::oci {

struct ContainerState {
  std::string id;
  std::string bundle;
  std::map<std::string, std::string> annotations;
  pid_t pid = 0;  // of the container's first process; 0 if the state has none, as at poststop
};

// The longest state that is read: annotations make it grow, and engines bound those far below.
inline constexpr size_t kMaxStateBytes = 1 << 20;

// TEXT as a state. Unknown members are ignored, and so is `status`, which runtimes set differently.
base::Result<ContainerState> parse_state(std::string_view text);

}  // namespace hook::oci
