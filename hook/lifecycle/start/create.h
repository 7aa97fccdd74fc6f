// SPDX-License-Identifier: Apache-2.0
// The start of a container before its program runs: from its request to a lease with all that
// belongs to it.
#pragma once

#include <sys/types.h>

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
  oci::NetworkNamespace network;  // the one that it will be in
  std::map<std::string, std::string> annotations;
  std::string state_dir = {};  // its directory at its low-level runtime; empty: unknown
  pid_t init = 0;              // its first process; 0: there is none yet
};

// Gives the container what PLAN says. The files of the lease exist by then.
using Apply = std::function<base::Status(const plan::Plan& plan)>;

// Fails with kInvalid if POOL can never give what REQUEST asks for, however much it has left.
base::Status check_request(const config::PoolConfig& pool, const request::Request& request);

// Grants REQUEST to NEWCOMER: the lease is ALLOCATED, its partition ACTIVE, its files written, and
// the plan applied. After an error, nothing of it is left but what APPLY did; what cannot be undone
// now is recorded in the ledger for reconcile(). Takes at most request.wait plus the pool's timeout
// and a few seconds.
base::Result<ledger::Lease> prepare_lease(Env& env, const config::Config& config,
                                          const request::Request& request, const Newcomer& newcomer,
                                          const Apply& apply);

// Does the same for CONTAINER of BUNDLE, whose config.json says SPEC, and replaces that file. After
// an error, config.json is unchanged.
base::Status prepare_container(Env& env, const config::Config& config,
                               const request::Request& request, const std::string& container,
                               const oci::SpecView& spec, inject::Bundle& bundle,
                               const std::string& state_dir = "");

}  // namespace hook::lifecycle::start
