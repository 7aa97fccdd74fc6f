// SPDX-License-Identifier: Apache-2.0
// What a container runtime interface (CRI) says of a container by its annotations.
#pragma once

#include <map>
#include <string>

namespace hook::oci {

// The id of the sandbox container of the pod that a container with these annotations belongs to;
// empty if it is none of a pod, or the sandbox itself. By the annotations of containerd
// (io.kubernetes.cri.container-type, .sandbox-id) and of CRI-O (io.kubernetes.cri-o.ContainerType,
// .SandboxID).
[[nodiscard]] std::string sandbox_of(const std::map<std::string, std::string>& annotations);

}  // namespace hook::oci
