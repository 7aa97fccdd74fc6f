// SPDX-License-Identifier: Apache-2.0
// The command line of vipu-simulator.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "vipu/simulator/pod.h"

namespace simulator {

enum class Endpoints : bool { kNo, kYes };

struct Options {
  std::string host;   // IPv4 address to listen on
  uint16_t port = 0;  // 0: any free one
  vipu::simulator::Pod pod;
  std::chrono::milliseconds create_delay{0};
  std::string create_error;  // what every new partition fails with; empty: none does
  std::string state_file;    // empty: partitions are forgotten at the end
  Endpoints endpoints = Endpoints::kNo;
  std::string netns;  // path of the network namespace for the endpoints; empty: the caller's
};

// The options, or nothing when help or the version was asked for and printed. kInvalid with the
// option that is wrong.
base::Result<std::optional<Options>> parse_options(int argc, char** argv);

}  // namespace simulator
