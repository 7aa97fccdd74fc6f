// SPDX-License-Identifier: Apache-2.0
// The pod of a container, from the annotations of a container runtime interface (CRI).
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace hook::oci {

// Returns the id of the sandbox container of a container's pod; empty if the container is in no pod
// or is the sandbox itself. Uses the annotations of containerd (io.kubernetes.cri.container-type,
// .sandbox-id) and of CRI-O (io.kubernetes.cri-o.ContainerType, .SandboxID).
[[nodiscard]] std::string sandbox_of(const std::map<std::string, std::string>& annotations);

// Returns the Kubernetes namespace of the container's pod, as the engine says it; empty if it is in
// no pod. Uses io.kubernetes.cri.sandbox-namespace of containerd, and io.kubernetes.pod.namespace
// of CRI-O. CRI-O also passes on what the pod's author wrote, but writes this label after it. Fails
// with kDenied if annotations of both engines are there, because one of them is then the author's.
base::Result<std::string> namespace_of(const std::map<std::string, std::string>& annotations);

// Returns whether the container is in a pod or is its sandbox.
[[nodiscard]] bool is_of_pod(const std::map<std::string, std::string>& annotations);

}  // namespace hook::oci
