// SPDX-License-Identifier: Apache-2.0
// What a container asks for, without what only its image says, as far as its engine's files tell.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/container/oci/spec.h"
#include "hook/container/request/request.h"

namespace hook::lifecycle::start {

// Returns the request of the container with this id, as request::parse_request() and
// settle_tenant(), for the user who logged in, do. Finds out
// from the engine's files which variables come from the image (engine_files.h). Where no file
// tells, all variables count as the user's, and the policy decides. containerd's CRI plugin writes
// the image's variables and then those of the pod, also under the same name; the last one counts.
base::Result<std::optional<request::Request>> asked_of(const std::string& container,
                                                       const oci::SpecView& view,
                                                       const config::PolicyConfig& policy);

}  // namespace hook::lifecycle::start
