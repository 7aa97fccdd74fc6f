// SPDX-License-Identifier: Apache-2.0
// Whether a running engine knows a runtime.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/engines/engine.h"

namespace hook::engines {

enum class Listed { kYes, kNo, kUnknown };

struct Listing {
  Listed listed = Listed::kUnknown;
  std::string why = {};  // why it is unknown
};

// Returns whether ENGINE, with DAEMONS that read the file PATH, knows the runtime NAME.
// - docker: asks each dockerd on its own socket, whatever the caller's environment and contexts
//   say.
// - podman, which has no daemon: asks it with a separate storage, so that the user's stays
//   untouched.
// - containerd: looks in PATH, because containerd reads its file only when it starts. The answer is
//   unknown if PATH was written after that.
// - CRI-O: the answer is unknown, because CRI-O does not report what it has read.
// With several daemons, the answer is yes only if all know the runtime. Without a daemon, it is
// unknown, except for podman.
[[nodiscard]] Listing find_listing(Engine engine, const std::vector<Daemon>& daemons,
                                   const std::string& path, const std::string& name,
                                   const base::Deadline& deadline);

}  // namespace hook::engines
