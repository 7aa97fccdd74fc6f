// SPDX-License-Identifier: Apache-2.0
// What the lifecycle verbs work with: built once in main, passed by reference.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hook/config/config.h"
#include "hook/ledger/ledger.h"
#include "netns/link.h"
#include "netns/rdma.h"
#include "vipu/controller.h"

namespace hook::lifecycle {

// What a start looks up of the host's network.
struct HostView {
  std::function<base::Result<netns::LinkFacts>(const std::string& interface)> link;
  std::function<base::Result<std::vector<netns::Address>>()> addresses;
  std::function<base::Result<std::optional<netns::RdmaMode>>()> rdma_mode;
};

struct Env {
  ledger::Ledger& ledger;
  std::function<std::unique_ptr<vipu::Controller>(const config::PoolConfig& pool)> controller;
  // How the controller of the pool with this name is spoken to, for what is given back: without a
  // configuration as well.
  std::function<config::ControllerSecurity(const std::string& pool)> security;
  // Has the pool's warm partitions refilled, by another process that nobody waits for.
  std::function<void(const std::string& pool)> start_refill;
  // Has another process ask whether other hosts answer for the lease's addresses; the answer is a
  // file of the lease that connect_lease() waits for.
  std::function<void(const std::string& lease_id)> start_probe;
  // Has another process reconcile what is due, and waits for nothing.
  std::function<void()> start_reconcile;
  HostView host;
  std::string run_dir;
  std::string hook_program;
  std::string sysfs = "/sys";
  // An error as soon as nobody wants what this process is doing any more: it waits no longer then.
  std::function<base::Status()> still_wanted = [] { return base::Status(); };
};

// The view of the network namespace that this process is in.
[[nodiscard]] HostView host_view(const std::string& sysfs);

// Where the namespaces of containers that hold a function of the host are kept reachable.
[[nodiscard]] std::string kept_namespaces(const Env& env);

// The Env of the installed product: its run directory, its programs, its configuration file.
[[nodiscard]] Env product_env(ledger::Ledger& ledger);

// The controller of what the ledger says was made in POOL by SOURCE: see source_of(). The
// configuration may have changed since.
[[nodiscard]] std::unique_ptr<vipu::Controller> recorded_controller(const Env& env,
                                                                    const std::string& pool,
                                                                    const std::string& source);

}  // namespace hook::lifecycle
