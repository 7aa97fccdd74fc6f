// SPDX-License-Identifier: Apache-2.0
// What a start finds on the host before anything is taken.
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
  std::vector<netns::Address> addresses;  // of the host's interfaces
  std::optional<netns::Identity> shared;  // the container's network namespace; unset: a new one
  bool own_network = false;               // the container gets a new one instead of the host's
};

// Inspects the host for a container with this network. Fails with kDenied if the container is to
// have the host's network, in whatever way this is requested, and the configuration does not
// isolate such containers. Also fails as inspect_rails() does.
base::Result<HostLook> inspect_host(Env& env, const config::NetworkConfig& config,
                                    const oci::NetworkNamespace& network);

}  // namespace hook::lifecycle::start
