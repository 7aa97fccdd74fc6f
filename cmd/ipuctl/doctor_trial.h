// SPDX-License-Identifier: Apache-2.0
// The parts of ipuctl doctor that change something: a container on trial, and what --fix mends.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/doctor/doctor.h"

namespace ipuctl {

// Starts a container of IMAGE with one IPU by docker, or by podman if docker does not have the
// runtime, and waits for its end. Returns what it got, and whether all of it came back. The image
// needs the program cat. Takes at most 5 minutes and the pull of the image.
std::vector<doctor::Finding> try_container(const std::string& image);

// Mends what is safe to mend: the host's packet filter, what ended containers hold, and the links
// in /dev/char of LINKS. Changes no configuration and no engine. Returns a finding on each.
std::vector<doctor::Finding> fix_host(base::Result<hook::ledger::Ledger>& ledger,
                                      const base::Result<hook::config::Config>& config,
                                      const std::optional<std::vector<doctor::DeviceLink>>& links);

}  // namespace ipuctl
