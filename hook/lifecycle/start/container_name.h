// SPDX-License-Identifier: Apache-2.0
// The name that users gave a container.
#pragma once

#include <string>

namespace hook::lifecycle::start {

// Returns the name of the container with this id and BUNDLE: docker's or podman's, or for a pod of
// Kubernetes NAMESPACE/POD/CONTAINER. Empty if no file tells. Reads files only: an engine that is
// asked may wait for the lock of a container that is being created. The name is what the engine's
// files say now, in printable characters; a user may have renamed the container.
[[nodiscard]] std::string container_name(const std::string& container, const std::string& bundle);

}  // namespace hook::lifecycle::start
