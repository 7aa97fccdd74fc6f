// SPDX-License-Identifier: Apache-2.0
// The command line of gc-docker and gc-podman: that of Graphcore's tools, with a few additions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace front {

struct FrontEndArguments {
  std::vector<uint32_t> device_ids = {};  // Graphcore's logical ids, in the order given
  std::optional<uint32_t> count = {};     // IPUs of a new partition, a power of two
  bool echo = false;
  bool host_network = false;
  bool help = false;
  bool version = false;
  std::vector<std::string> docker = {};  // arguments of `docker run`: options, image, command
};

// Parses ARGS (without argv[0]): "[--device-id N]... [--count N] [--host-network] [--echo] --
// ARGS". "run" may precede ARGS or "--". Without "--", docker's part begins with the first unknown
// word; if that is an option, no "--" may stand where the image is expected. Returns kInvalid, with
// the option and what is accepted.
base::Result<FrontEndArguments> parse_front_end(const std::vector<std::string>& args);

}  // namespace front
