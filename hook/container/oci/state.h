// SPDX-License-Identifier: Apache-2.0
// The container state that an OCI runtime passes to a hook on its standard input.
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
  pid_t pid = 0;  // the container's first process; 0 if the state has none, as at poststop
};

// The size limit of a state. It grows with annotations, which engines limit to far less.
inline constexpr size_t kMaxStateBytes = 1 << 20;

// Parses TEXT. Ignores unknown members, and `status`, which runtimes set differently.
base::Result<ContainerState> parse_state(std::string_view text);

}  // namespace hook::oci
