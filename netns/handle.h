// SPDX-License-Identifier: Apache-2.0
// Handles that keep a network namespace reachable after its processes have ended, for containers
// that hold a function of the host. A handle is a bind mount. It keeps the namespace alive, so
// whoever keeps one must drop it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "netns/namespace.h"

namespace netns {

// Keeps NS at DIRECTORY/NAME. DIRECTORY (made if absent, 0700) becomes a private mount of its own,
// so that no container and no other mount namespace holds a copy. Keeping NS there again succeeds.
// Returns kExists if another namespace is kept there.
base::Status keep(const std::string& directory, const std::string& name, const Namespace& ns);
// Returns the kept namespace, or nothing if none is kept there.
base::Result<std::optional<Namespace>> find_kept(const std::string& directory,
                                                 const std::string& name);
base::Result<base::Removed> drop(const std::string& directory, const std::string& name);

}  // namespace netns
