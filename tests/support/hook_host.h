// SPDX-License-Identifier: Apache-2.0
// HookHost: all that the lifecycle verbs work with, below a temporary directory, on a
// FakeController.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fs.h"
#include "hook/lifecycle/create.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/release.h"
#include "hook/oci/spec.h"
#include "tests/support/fake_controller.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace test {

// Lends a FakeController to callers that own theirs.
class LentController final : public vipu::Controller {
 public:
  LentController(FakeController& fake, std::function<void()> before_create)
      : fake_(fake), before_create_(std::move(before_create)) {}
  base::Result<vipu::Grant> create(const vipu::PartitionRequest& request,
                                   const base::Deadline& deadline) override {
    if (before_create_) before_create_();
    return fake_.create(request, deadline);
  }
  base::Status submit(const vipu::PartitionRequest& request,
                      const base::Deadline& deadline) override {
    if (before_create_) before_create_();
    return fake_.submit(request, deadline);
  }
  base::Result<vipu::Grant> wait(const std::string& id, const base::Deadline& deadline) override {
    return fake_.wait(id, deadline);
  }
  base::Result<std::vector<vipu::Partition>> list(const base::Deadline& deadline) override {
    return fake_.list(deadline);
  }
  base::Result<vipu::PartitionStatus> status(const std::string& id,
                                             const base::Deadline& deadline) override {
    return fake_.status(id, deadline);
  }
  base::Result<vipu::Grant> config(const std::string& id, std::optional<uint32_t> gcd,
                                   const base::Deadline& deadline) override {
    return fake_.config(id, gcd, deadline);
  }
  base::Status reset(const std::string& id, vipu::Relocate relocate,
                     const base::Deadline& deadline) override {
    return fake_.reset(id, relocate, deadline);
  }
  base::Result<base::Removed> remove(const std::string& id, vipu::Force force,
                                     const base::Deadline& deadline) override {
    return fake_.remove(id, force, deadline);
  }
  base::Result<vipu::Survey> survey(const base::Deadline& deadline) override {
    return fake_.survey(deadline);
  }
  base::Result<std::vector<vipu::IpuAttributes>> attributes(
      const std::vector<std::string>& agents, const base::Deadline& deadline) override {
    return fake_.attributes(agents, deadline);
  }
  base::Result<std::string> version(const base::Deadline& deadline) override {
    return fake_.version(deadline);
  }

 private:
  FakeController& fake_;
  std::function<void()> before_create_;
};

// A process of our pid namespace that does not run: its pid is above the largest one.
inline base::ProcessId dead_process() {
  base::ProcessId dead = base::current_process().take();
  dead.pid = 1 << 22;
  return dead;
}

class HookHost {
 public:
  // The pool has this many IPUs; the rail's parent is this interface of the host.
  explicit HookHost(uint32_t ipus = 16, const std::string& parent = "lo") : controller(ipus) {
    config.runtimes = hook::default_runtimes();
    hook::PoolConfig pool;
    pool.name = "pod16";
    pool.controller = "10.5.1.254:8090";
    pool.timeout = std::chrono::seconds(30);
    config.pools = {pool};
    config.network.rails = {{parent, netns::parse_ipv4_prefix("10.5.0.0/16").take(),
                             netns::parse_ipv4("10.5.200.10").take(),
                             netns::parse_ipv4("10.5.200.99").take()}};
    env.sysfs = dir / "sys";
  }
  HookHost(const HookHost&) = delete;
  HookHost& operator=(const HookHost&) = delete;

  // A bundle with this configuration, or with docker's, opened.
  hook::Bundle make_bundle(const std::string& name, std::string text = "") {
    if (text.empty()) {
      text = base::read_file(TEST_DATA_DIR "/docker-config.json", hook::kMaxSpecBytes).take();
    }
    EXPECT_TRUE(succeeds(base::ensure_dir(dir / name, 0755)));
    EXPECT_TRUE(succeeds(base::write_atomic(dir / (name + "/config.json"), text, {0600, {}, {}})));
    return hook::Bundle::open(dir / name, "config.json").take();
  }
  std::string config_of(const std::string& bundle) {
    return base::read_file(dir / (bundle + "/config.json"), hook::kMaxSpecBytes).take();
  }

  // Starts the container NAME in a bundle of the same name.
  base::Status prepare(const std::string& name, uint32_t ipus) {
    hook::Request request;
    request.ipus = ipus;
    return prepare(name, request);
  }
  base::Status prepare(const std::string& name, const hook::Request& request) {
    hook::Bundle bundle = make_bundle(name);
    return hook::prepare_container(env, config, request, name, bundle);
  }
  // The same, which must succeed; its lease.
  hook::Lease start(const std::string& name, uint32_t ipus) {
    EXPECT_TRUE(succeeds(prepare(name, ipus)));
    return lease_of(name);
  }

  hook::Lease lease_of(const std::string& container) { return ledger.get(container).take(); }
  hook::Lease stored(const hook::Lease& lease) { return ledger.find(lease.id).take().value(); }
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
  // Nothing is held: no live lease, no partition, no file.
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
  std::vector<std::string> asked_controllers;  // their addresses, one a call
  hook::Ledger ledger = hook::Ledger::open(dir / "state/ledger.db").take();
  hook::Config config;
  std::vector<std::string> refills;  // pools whose refill was started
  hook::Env env{ledger,
                [this](const hook::PoolConfig& pool) {
                  asked_controllers.push_back(hook::source_of(pool));
                  return std::make_unique<LentController>(controller, before_create);
                },
                [](const std::string&) { return hook::ControllerSecurity(); },
                [this](const std::string& pool) { refills.push_back(pool); },
                dir / "run",
                "/usr/local/bin/ipu-container-hook"};
};

}  // namespace test
