// SPDX-License-Identifier: Apache-2.0
// What the files of docker, of containers/storage (podman, CRI-O) and of containerd say of the
// image of a container. None of their databases is read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/container/oci/spec.h"
#include "hook/container/request/request.h"

namespace hook::lifecycle::start {

// The directories in which containerd may keep its images: its own default, and those of k3s, RKE2
// and MicroK8s.
[[nodiscard]] std::vector<std::string> containerd_roots();

// Returns which variables of the container with this id and VIEW come from its image. ROOTS are
// containerd's. Returns nothing if no file tells: the image's file is not there, or containerd
// names the image by a tag. If there are files that cannot be understood, then all variables count
// as the image's: an image could bring that about. Reads a few files, each of at most 16 MiB.
[[nodiscard]] std::optional<request::FromImage> from_image(const std::string& container,
                                                           const oci::SpecView& view,
                                                           const std::vector<std::string>& roots);

}  // namespace hook::lifecycle::start
