// SPDX-License-Identifier: Apache-2.0
// The provider 'ipuof': slices of one reconfigurable partition that another party made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vipu/block.h"
#include "vipu/controller.h"
#include "vipu/health.h"

namespace vipu {

struct IpuofOptions {
  std::string pool;        // its name, for errors
  std::string file;        // the IPUoF file of the partition, with one GCD
  std::string state_file;  // see local::PartitionStore
  // Numbers of IPUs that are never given to a partition. Numbers outside the pool have no effect.
  std::vector<uint32_t> taints = {};
  std::vector<BadIpu> bad = {};  // more of them, by name
  // The IPUs of the pool, by their numbers in the file; unset: all of the file. IPUs of the part
  // that the file does not have are none.
  std::optional<Block> part = {};
};

// Makes a controller of slices. IPUs are numbered by IPU-Machine, in the order of first mention in
// the file, then by device_id: 4 numbers per machine, even if the file omits some of its IPUs.
// Domains have 64 IPUs. A slice is an aligned power of two of them. It is granted its devices, in
// the order of the file, and all attributes, both unchanged; its only GCD is 0. With a part, the
// pool has only its IPUs, numbered from 0; taints keep the numbers of the file.
//
// Each call reads the file. Returns kUnavailable if the file is absent, kInvalid if it is malformed
// (see local::parse_ipuof_file) or has no IPU of the part. If the file says that the partition is
// not reconfigurable, create() and submit() return kUnsupported. The agents of attributes() are the
// machines' addresses.
std::unique_ptr<Controller> make_ipuof_controller(IpuofOptions options);

}  // namespace vipu
