// SPDX-License-Identifier: Apache-2.0
// What the runtime would make of a bundle.
#pragma once

#include <string>

#include "base/result.h"
#include "cmd/ipuctl/command.h"

namespace ipuctl {

// Says what the config.json in DIRECTORY asks for and how it would be changed. Takes nothing,
// changes nothing. The error that a start would end with, as far as it can be told before.
base::Result<Outcome> explain_bundle(const std::string& directory, Output output);

}  // namespace ipuctl
