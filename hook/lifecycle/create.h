// SPDX-License-Identifier: Apache-2.0
// The start of a container, before the low-level runtime is called: from its bundle to a lease and
// an edited bundle.
#pragma once

#include <string>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/inject/bundle.h"
#include "hook/lifecycle/env.h"
#include "hook/request/request.h"

namespace hook {

// Grants REQUEST to the container CONTAINER of BUNDLE: a lease ALLOCATED, its partition ACTIVE, its
// files written, config.json replaced. After an error nothing of it is left (what cannot be undone
// now is noted in the ledger for reconcile()), and config.json is as it was. Takes at most
// request.wait plus config.pool.timeout and a few seconds. STATE_DIR is the container's at its
// low-level runtime, if that is known.
base::Status prepare_container(Env& env, const Config& config, const Request& request,
                               const std::string& container, Bundle& bundle,
                               const std::string& state_dir = "");

}  // namespace hook
