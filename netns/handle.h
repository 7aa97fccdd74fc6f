// SPDX-License-Identifier: Apache-2.0
// A network namespace kept reachable after its processes ended: a bind mount of it, for the
// containers that hold a function of the host. It keeps the namespace alive, so whoever keeps one
// drops it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "netns/namespace.h"

namespace netns {

// Keeps NAMESPACE at DIRECTORY/NAME. DIRECTORY (made if absent, 0700) becomes a mount of its own
// that is private, so that no container and no other mount namespace holds a copy. Done already is
// fine; kExists if another namespace is kept there.
base::Status keep(const std::string& directory, const std::string& name, const Namespace& ns);
// Absent if none is kept there.
base::Result<std::optional<Namespace>> find_kept(const std::string& directory,
                                                 const std::string& name);
base::Result<base::Removed> drop(const std::string& directory, const std::string& name);

}  // namespace netns
