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

// An IPv4 address and a port; 0: any free one.
struct Address {
  std::string host;
  uint16_t port = 0;
};

// Paths of PEM files; empty: none.
struct Tls {
  std::string certificate;
  std::string key;
  std::string client_ca;  // then a client must show a certificate of this authority
};

struct Options {
  Address listen;
  vipu::simulator::Pod pod;
  vipu::simulator::Settings settings;
  std::string state_file;    // empty: partitions are forgotten at the end
  std::string faults_file;   // empty: no faults at the start
  std::string control_path;  // of the control socket; empty: none
  std::string users_file;    // empty: everybody may do everything
  std::string user_metadata;
  std::string key_metadata;
  Tls tls;
  std::optional<Address> metrics;
  std::string log_file;  // empty: none
  Endpoints endpoints = Endpoints::kNo;
  std::string netns;  // path of the network namespace for the endpoints; empty: the caller's
};

// The options, or nothing when help was asked for and printed. kInvalid with the option that is
// wrong.
base::Result<std::optional<Options>> parse_options(int argc, char** argv);

}  // namespace simulator
