// SPDX-License-Identifier: Apache-2.0
// The ordinary network of a job, beside its IPUs' one: the interface eth0, made by the plugins of a
// CNI network list (CNI 1.0, sections 1 and 2), which the site chooses.
#pragma once

#include <string>

#include "base/result.h"
#include "cmd/ipu-slurm/folder.h"

namespace slurm {

// Gives the network namespace of the path NETNS what the network list in the file LIST says, and
// remembers it in FOLDER. After an error, detach_uplink() removes what there is.
base::Status attach_uplink(const Folder& folder, const std::string& list, const std::string& netns);

// Takes back what FOLDER remembers. A NETNS that is gone, or empty, is no error. Running it twice
// is harmless.
base::Status detach_uplink(const Folder& folder, const std::string& netns);

}  // namespace slurm
