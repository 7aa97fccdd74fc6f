// SPDX-License-Identifier: Apache-2.0
// What the lifecycle verbs work with: built once in main, passed by reference.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hook/config/config.h"
#include "hook/ledger/ledger.h"
#include "vipu/controller.h"

namespace hook {

struct Env {
  Ledger& ledger;
  std::function<std::unique_ptr<vipu::Controller>(const PoolConfig& pool)> controller;
  // How the controller of the pool with this name is spoken to, for what is given back: without a
  // configuration as well.
  std::function<ControllerSecurity(const std::string& pool)> security;
  // Has the pool's warm partitions refilled, by another process that nobody waits for.
  std::function<void(const std::string& pool)> start_refill;
  std::string run_dir;
  std::string hook_program;
  std::string sysfs = "/sys";
};

// The Env of the installed product: its run directory, its programs, its configuration file.
[[nodiscard]] Env product_env(Ledger& ledger);

// The controller of what the ledger says was made in POOL by SOURCE: see source_of(). The
// configuration may have changed since.
[[nodiscard]] std::unique_ptr<vipu::Controller> recorded_controller(const Env& env,
                                                                    const std::string& pool,
                                                                    const std::string& source);

}  // namespace hook
