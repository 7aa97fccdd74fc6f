// SPDX-License-Identifier: Apache-2.0
// The start of a container, before its program runs: from what it asks for to a lease and all that
// belongs to it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/container/inject/bundle.h"
#include "hook/container/plan/plan.h"
#include "hook/container/request/request.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

// A container that is being started, as its engine describes it.
struct Newcomer {
  std::string container;          // its id
  std::string bundle;             // the path of its bundle
  oci::NetworkNamespace network;  // that it will be in
  std::map<std::string, std::string> annotations;
  std::string state_dir = {};  // at its low-level runtime, if that is known
};

// Gives the container what PLAN says. The files of the lease are written by then.
using Apply = std::function<base::Status(const plan::Plan& plan)>;

// kInvalid if POOL cannot give what REQUEST is, whatever it has left.
base::Status check_request(const config::PoolConfig& pool, const request::Request& request);

// Grants REQUEST to NEWCOMER: a lease ALLOCATED, its partition ACTIVE, its files written, the plan
// applied. After an error nothing of it is left (what cannot be undone now is noted in the ledger
// for reconcile()), but for what APPLY did. Takes at most request.wait plus the pool's timeout and
// a few seconds.
base::Result<ledger::Lease> prepare_lease(Env& env, const config::Config& config,
                                          const request::Request& request, const Newcomer& newcomer,
                                          const Apply& apply);

// The same for the container CONTAINER of BUNDLE, whose config.json says SPEC and is replaced.
// After an error config.json is as it was.
base::Status prepare_container(Env& env, const config::Config& config,
                               const request::Request& request, const std::string& container,
                               const oci::SpecView& spec, inject::Bundle& bundle,
                               const std::string& state_dir = "");

}  // namespace hook::lifecycle::start
