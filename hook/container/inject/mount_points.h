// SPDX-License-Identifier: Apache-2.0
// Where a low-level runtime would have to make a directory to mount on.
#pragma once

#include <string>

#include "base/result.h"
#include "hook/container/oci/spec.h"

namespace hook::inject {

// Checks that a low-level runtime finds or can make the directory DESTINATION (absolute, clean) in
// the container of SPEC, whose bundle is in the directory BUNDLE. Returns kUnsupported, with what
// is in the way and what to do, if a file is there, or if an absent directory would have to be made
// on a read-only file system, or in a directory of a user whom the container's user namespace does
// not have. In every doubt it succeeds: the runtime has the last word.
base::Status check_mount_point(const oci::SpecView& spec, const std::string& bundle,
                               const std::string& destination);

}  // namespace hook::inject
