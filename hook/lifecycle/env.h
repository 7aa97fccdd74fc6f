// SPDX-License-Identifier: Apache-2.0
// What the lifecycle verbs work with: built once in main, passed by reference.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hook/config/config.h"
#include "hook/config/paths.h"
#include "hook/fleet/store.h"
#include "hook/ledger/ledger.h"
#include "netns/link.h"
#include "netns/rdma.h"
#include "vipu/controller.h"

namespace hook::lifecycle {

// What a start looks up in the host's network.
struct HostView {
  std::function<base::Result<netns::LinkFacts>(const std::string& interface)> link;
  std::function<base::Result<std::vector<netns::Address>>()> addresses;
  std::function<base::Result<std::vector<netns::Prefix>>()> broadcasts;
  std::function<base::Result<std::optional<netns::RdmaMode>>()> rdma_mode;
};

struct Env {
  ledger::Ledger& ledger;
  std::function<std::unique_ptr<vipu::Controller>(const config::PoolConfig& pool)> controller;
  // Returns how to talk to the controller of the pool with this name when releasing, also without a
  // configuration.
  std::function<config::ControllerSecurity(const std::string& pool)> security;
  // Starts a process that refills the pool's warm partitions a moment later; nobody waits for it.
  std::function<void(const std::string& pool)> start_refill;
  // Starts a process that asks whether other hosts answer for the lease's addresses.
  // connect_lease() waits for its answer, which is a file of the lease.
  std::function<void(const std::string& lease_id)> start_probe;
  // Starts a process that reconciles what is due, and does not wait for it.
  std::function<void()> start_reconcile;
  HostView host;
  std::string run_dir;
  std::string hook_program;
  std::string sysfs = "/sys";
  // Whether the ledger is the only one of this network namespace, so that a macvlan of ours that it
  // does not know is a leftover.
  bool is_only_ledger = false;
  // Whether errors of a request for IPUs name the containers and reservations of others.
  bool names_others = true;
  // Time between two attempts of a start that waits: what other hosts free does not change this
  // ledger.
  std::chrono::milliseconds retry_time{1000};
  // Fails once nobody wants the result of this process; the process then stops waiting.
  std::function<base::Status()> still_wanted = [] { return base::Status(); };
  std::string poststop_program = config::poststop_program();
  std::string endpoint_program = config::endpoint_program();
  // Returns the store of FLEET.
  std::function<std::unique_ptr<fleet::Store>(const config::FleetConfig& fleet)> store = {};
  // Returns the fleet of this host, if it is in one, also without the rest of a configuration.
  std::function<base::Result<std::optional<config::FleetConfig>>()> fleet = [] {
    return std::optional<config::FleetConfig>();
  };
  bool is_debugged = false;  // hooks of a container that it starts log everything
};

// Returns the view of the network namespace that this process is in.
[[nodiscard]] HostView host_view(const std::string& sysfs);

// Returns the directory that keeps the namespaces of containers with a function of the host
// reachable.
[[nodiscard]] std::string kept_namespaces(const Env& env);

// Opens the ledger of the installed product; see Ledger::open_of_host. If it is of another host, it
// can be read only; see LedgerHost::be_on. HOST_ID is [host] id of the configuration, if it is
// known.
[[nodiscard]] base::Result<ledger::Ledger> open_ledger(
    const std::optional<std::string>& host_id = {});
// Returns what identifies this host, by HOST_ID and its files.
[[nodiscard]] ledger::HostWitnesses this_host(const std::string& host_id);

// Returns the Env of the installed product: its run directory, its programs, its configuration
// file.
[[nodiscard]] Env product_env(ledger::Ledger& ledger);

// Returns the controller of what SOURCE made in POOL according to the ledger: see source_of(). The
// configuration may have changed since.
[[nodiscard]] std::unique_ptr<vipu::Controller> recorded_controller(const Env& env,
                                                                    const std::string& pool,
                                                                    const std::string& source);

}  // namespace hook::lifecycle
