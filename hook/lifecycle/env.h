// SPDX-License-Identifier: Apache-2.0
// What the lifecycle verbs work with: built once in main, passed by reference.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hook/ledger/ledger.h"
#include "vipu/controller.h"

namespace hook {

struct Env {
  Ledger& ledger;
  // The controller at HOST:PORT.
  std::function<std::unique_ptr<vipu::Controller>(const std::string& controller)> controller;
  std::string run_dir;
  std::string hook_program;
  std::string sysfs = "/sys";
};

// The Env of the installed product: its run directory, its hook, its client program.
[[nodiscard]] Env product_env(Ledger& ledger);

}  // namespace hook
