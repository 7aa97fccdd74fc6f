// SPDX-License-Identifier: Apache-2.0
// A preview of what the runtime would do to a bundle.
#pragma once

#include <string>

#include "base/result.h"
#include "cmd/ipuctl/command.h"

namespace ipuctl {

// Reports what the config.json in DIRECTORY asks for and how it would change. Claims and changes
// nothing. Returns the error that a start would end with, as far as it is known in advance.
base::Result<Outcome> explain_bundle(const std::string& directory, Output output);

}  // namespace ipuctl
