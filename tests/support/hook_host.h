// SPDX-License-Identifier: Apache-2.0
// HookHost: everything that the lifecycle verbs use, below a temporary directory, with a
// FakeController.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/oci/spec.h"
#include "hook/container/plan/orders.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/start/create.h"
#include "tests/support/fake_controller.h"
#include "tests/support/lent_controller.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace test {

// Returns a process of this pid namespace that does not run: its pid is above the limit.
inline base::ProcessId dead_process() {
  base::ProcessId dead = base::current_process().take();
  dead.pid = 1 << 22;
  return dead;
}

class HookHost {
 public:
  // Makes a host whose pool has this many IPUs and whose rail has this parent interface, which must
  // exist only for tests with a network.
  explicit HookHost(uint32_t ipus = 16, const std::string& parent = "rnic0") : controller(ipus) {
    config.runtimes = hook::config::default_runtimes();
    hook::config::PoolConfig pool;
    pool.name = "pod16";
    pool.controller = "10.5.1.254:8090";
    pool.timeout = std::chrono::seconds(30);
    config.pools = {pool};
    config.network.rails = {rail(parent, "10.5.0.0/16", "10.5.200.10", "10.5.200.99")};
    env.sysfs = dir / "sys";
    env.retry_time = std::chrono::milliseconds(50);
  }
  HookHost(const HookHost&) = delete;
  HookHost& operator=(const HookHost&) = delete;

  static hook::config::RailConfig rail(const std::string& parent, const char* subnet,
                                       const char* first, const char* last) {
    hook::config::RailConfig rail;
    rail.parent = parent;
    rail.subnet = netns::parse_prefix(subnet).take();
    rail.first = netns::parse_address(first).take();
    rail.last = netns::parse_address(last).take();
    return rail;
  }

  // Makes and opens a bundle with this configuration, or with docker's.
  hook::inject::Bundle make_bundle(const std::string& name, std::string text = "") {
    if (text.empty()) {
      text = base::read_file(TEST_DATA_DIR "/docker-config.json", hook::oci::kMaxSpecBytes).take();
    }
    EXPECT_TRUE(succeeds(base::ensure_dir(dir / name, 0755)));
    EXPECT_TRUE(succeeds(base::write_atomic(dir / (name + "/config.json"), text, {0600, {}, {}})));
    return hook::inject::Bundle::open(dir / name, "config.json").take();
  }
  std::string config_of(const std::string& bundle) {
    return base::read_file(dir / (bundle + "/config.json"), hook::oci::kMaxSpecBytes).take();
  }

  // Starts the container NAME in a bundle of the same name.
  base::Status prepare(const std::string& name, uint32_t ipus) {
    hook::request::Request request;
    request.ipus = ipus;
    return prepare(name, request);
  }
  base::Status prepare(const std::string& name, const hook::request::Request& request) {
    hook::inject::Bundle bundle = make_bundle(name);
    return hook::lifecycle::start::prepare_container(
        env, config, request, name, hook::oci::parse_spec(bundle.config()).take(), bundle);
  }
  // Does the same, must succeed, and returns the lease.
  hook::ledger::Lease start(const std::string& name, uint32_t ipus) {
    EXPECT_TRUE(succeeds(prepare(name, ipus)));
    return lease_of(name);
  }

  hook::ledger::Lease lease_of(const std::string& container) {
    return ledger.get(container).take();
  }
  hook::ledger::Lease stored(const hook::ledger::Lease& lease) {
    return ledger.find(lease.id).take().value();
  }
  size_t live_leases() { return ledger.live().take().size(); }
  std::vector<std::string> partitions() {
    std::vector<std::string> names;
    for (const vipu::Partition& partition : controller.list(soon()).take()) {
      names.push_back(partition.id);
    }
    return names;
  }
  std::vector<std::string> lease_directories() {
    std::vector<std::string> names;
    std::error_code err;
    for (const auto& entry : std::filesystem::directory_iterator(dir / "run/leases", err)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  // Succeeds if there is no live lease, no partition and no file.
  testing::AssertionResult is_empty() {
    if (live_leases() == 0 && partitions().empty() && lease_directories().empty()) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure()
           << live_leases() << " leases, " << partitions().size() << " partitions, "
           << lease_directories().size() << " directories";
  }
  static base::Deadline soon() { return base::Deadline::after(std::chrono::seconds(30)); }

  TempDir dir;
  FakeController controller;
  std::function<void()> before_create;         // called before each create()
  std::function<void()> before_wait;           // called before each wait()
  std::function<void()> before_version;        // called before each version()
  std::vector<std::string> asked_controllers;  // one address per call
  hook::ledger::Ledger ledger = hook::ledger::Ledger::open(dir / "state/ledger.db").take();
  hook::config::Config config;
  std::vector<std::string> refills;               // pools whose refill was started
  uint32_t reconciles = 0;                        // number that starts left to another process
  bool reconcile_at_once = true;                  // before the start continues
  std::vector<std::string> probed;                // leases whose addresses were probed
  hook::plan::ProbeReport probe_report;           // result of the probes
  std::map<std::string, netns::LinkFacts> links;  // all others: Ethernet, up, with an MTU of 9000
  std::set<std::string> missing_links;
  std::vector<netns::Address> addresses;  // of the host
  std::vector<netns::Prefix> broadcasts;
  std::optional<netns::RdmaMode> rdma_mode;
  hook::lifecycle::Env env{
      ledger,
      [this](const hook::config::PoolConfig& pool) {
        asked_controllers.push_back(hook::config::source_of(pool));
        return std::make_unique<LentController>(controller, before_create, before_wait,
                                                before_version);
      },
      [](const std::string&) { return hook::config::ControllerSecurity(); },
      [this](const std::string& pool) { refills.push_back(pool); },
      [this](const std::string& lease) { answer_probe(lease); },
      [this] { reconcile_now(); },
      {[this](const std::string& name) { return link_of(name); },
       [this]() -> base::Result<std::vector<netns::Address>> { return addresses; },
       [this]() -> base::Result<std::vector<netns::Prefix>> { return broadcasts; },
       [this]() -> base::Result<std::optional<netns::RdmaMode>> { return rdma_mode; }},
      dir / "run",
      "/usr/local/bin/ipu-container-hook"};

 private:
  base::Result<netns::LinkFacts> link_of(const std::string& name) {
    const auto found = links.find(name);
    if (found != links.end()) return found->second;
    if (missing_links.contains(name)) {
      return base::Error(base::Code::kNotFound, "there is no interface " + base::quote(name));
    }
    netns::LinkFacts facts;
    facts.name = name;
    facts.mtu = 9000;
    facts.mac = netns::parse_mac("52:54:00:00:00:01").take();
    facts.is_ethernet = facts.is_up = facts.has_carrier = true;
    return facts;
  }
  // Does what the installed product leaves to another process, without waiting for it.
  void reconcile_now() {
    ++reconciles;
    hook::lifecycle::Scope due;
    due.due_only = true;
    if (!reconcile_at_once) return;
    EXPECT_TRUE(succeeds(hook::lifecycle::end::reconcile(env, soon(), due)));
  }
  void answer_probe(const std::string& lease) {
    probed.push_back(lease);
    EXPECT_TRUE(succeeds(hook::inject::write_lease_files(
        env.run_dir, lease, {{hook::plan::kProbeFile, hook::plan::to_text(probe_report)}})));
  }
};

}  // namespace test
