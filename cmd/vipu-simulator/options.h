// SPDX-License-Identifier: Apache-2.0
// The command line of vipu-simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cmd/vipu-simulator/model/model.h"
#include "cmd/vipu-simulator/model/pod.h"

namespace simulator {

enum class Endpoints : bool { kNo, kYes };

// An IPv4 address and a port; 0: any free port.
struct Address {
  std::string host;
  uint16_t port = 0;
};

// Paths of PEM files; empty: none.
struct Tls {
  std::string certificate;
  std::string key;
  std::string client_ca;  // if set, clients must present a certificate of this authority
};

struct Options {
  Address listen;
  vipu::simulator::Pod pod;
  vipu::simulator::Settings settings;
  std::string state_file;    // empty: partitions are not kept
  std::string faults_file;   // empty: no faults at start
  std::string control_path;  // of the control socket; empty: none
  std::string users_file;    // empty: every user may do everything
  std::string user_metadata;
  std::string key_metadata;
  Tls tls;
  std::optional<Address> metrics;
  std::string log_file;  // empty: none
  Endpoints endpoints = Endpoints::kNo;
  std::string netns;  // path of the network namespace for the endpoints; empty: the caller's
};

// Returns the options, or nothing after printing requested help. Returns kInvalid with the wrong
// option.
base::Result<std::optional<Options>> parse_options(int argc, char** argv);

}  // namespace simulator
