// SPDX-License-Identifier: Apache-2.0
// The provider 'ipuof': slices of one reconfigurable partition that somebody else made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vipu/controller.h"

namespace vipu {

struct IpuofOptions {
  std::string pool;        // its name, for errors
  std::string file;        // the IPUoF file of the partition, of one GCD
  std::string state_file;  // see local::Store
  // IPUs that are never given away, by number. Without effect if they are not in the pool.
  std::vector<uint32_t> taints = {};
};

// The IPUs are numbered by IPU-Machine, in the order in which the file names them first, and by
// device_id: 4 numbers a machine, also if the file leaves out some of its IPUs. Domains are of 64.
// A slice is an aligned power of two of them. It is granted its devices, in the order of the file,
// and all attributes, both as they are in the file; no GCD but number 0.
//
// The file is read at each call: kUnavailable if it is not there, kInvalid if it is broken (see
// local::parse_ipuof_file). If it says that the partition is not reconfigurable, create() and
// submit() give kUnsupported. The agents of attributes() are the addresses of the machines.
std::unique_ptr<Controller> make_ipuof_controller(IpuofOptions options);

}  // namespace vipu
