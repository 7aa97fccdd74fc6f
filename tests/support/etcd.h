// SPDX-License-Identifier: Apache-2.0
// Etcd: a cluster on free loopback ports, which ends with the object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hook/fleet/store.h"
#include "tests/support/authority.h"
#include "tests/support/simulator_process.h"
#include "tests/support/temp_dir.h"

namespace test {

struct EtcdOptions {
  size_t members = 1;
  bool tls = false;        // with certificates for clients, too
  bool user = false;       // requires the user "fleet"
  std::string quota = {};  // bytes of the database; empty: etcd's default
};

class Etcd {
 public:
  explicit Etcd(EtcdOptions options = {});

  // Waits until all members have a leader, and makes the user. Returns whether that came true.
  bool wait_until_ready();
  // Returns the section [fleet] for all members, in their order.
  [[nodiscard]] const hook::config::FleetConfig& fleet() const { return fleet_; }
  // Returns a store that runs the built ipu-fleet-client.
  [[nodiscard]] std::unique_ptr<hook::fleet::Store> store() const { return store(fleet_); }
  static std::unique_ptr<hook::fleet::Store> store(const hook::config::FleetConfig& fleet);

  // Sends SIGNAL to the member MEMBER, such as SIGSTOP; kill() also waits for its end.
  void signal(size_t member, int signal);
  void kill(size_t member);
  // Runs etcdctl with ARGS on the first member. Returns whether it succeeded.
  bool control(const std::vector<std::string>& args);

  // Returns whether etcd and etcdctl are installed.
  static bool is_installed();

 private:
  EtcdOptions options_;
  TempDir directory_;
  bool has_users_ = false;
  std::optional<Authority> authority_;
  hook::config::FleetConfig fleet_;
  std::vector<std::unique_ptr<SimulatorProcess>> members_;
};

}  // namespace test

// For a test body or SetUp().
#define REQUIRES_ETCD()                                                                \
  do {                                                                                 \
    if (!test::Etcd::is_installed() && test::tests_must_run()) FAIL() << "no etcd";    \
    if (!test::Etcd::is_installed()) GTEST_SKIP() << "packaging/deps.sh e2e has etcd"; \
  } while (false)
