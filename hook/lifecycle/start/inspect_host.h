// SPDX-License-Identifier: Apache-2.0
// What a start finds on the host, before anything is taken.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "hook/container/oci/spec.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/network/rails.h"

namespace hook::lifecycle::start {

struct HostLook {
  std::vector<network::HostRail> rails;
  std::optional<netns::Identity> shared;  // the network namespace that the container will be in;
                                          // unset: a new one
  bool own_network = false;               // a new one instead of the host's
};

// kDenied if the container is to have the host's network, in whatever way that is said, and the
// configuration does not isolate such containers. Errors of the rails as inspect_rails().
base::Result<HostLook> inspect_host(Env& env, const config::NetworkConfig& config,
                                    const oci::NetworkNamespace& network);

}  // namespace hook::lifecycle::start
