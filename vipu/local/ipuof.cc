// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/ipuof.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "vipu/local/ipuof_file.h"
#include "vipu/local/local_controller.h"
#include "vipu/placement.h"

namespace vipu {
namespace {

using namespace base::names;
using local::Pool;

Result<IpuofConfig> read_ipuof_file(const std::string& path) {
  const Result<std::string> text = base::read_file(path, local::kMaxIpuofFile);
  if (text.ok()) return local::parse_ipuof_file(text.value(), str("IPUoF file ", quote(path)));
  if (text.error().sys_errno() != ENOENT) return text.error();
  return Error(Code::kUnavailable, text.error().message());
}

// Returns the number of each device.
std::vector<uint32_t> numbers_of(const std::vector<IpuofDevice>& devices) {
  std::vector<std::string> machines;
  std::vector<uint32_t> numbers;
  for (const IpuofDevice& device : devices) {
    const auto at = std::find(machines.begin(), machines.end(), device.ip);
    const auto machine = static_cast<uint32_t>(at - machines.begin());
    if (at == machines.end()) machines.push_back(device.ip);
    numbers.push_back(machine * kIpusPerMachine + device.device_id);
  }
  return numbers;
}

IpuAttributes attributes_of(const IpuofDevice& device) {
  IpuAttributes ipu{device.ip, device.device_id, {}};
  ipu.attributes = {{"IPUoF server port", std::to_string(device.server_port)},
                    {"IPUoF rdma port", std::to_string(device.rdma_port)},
                    {"ipulink segment id", std::to_string(device.ipulink_segment_id)},
                    {"routing id", std::to_string(device.routing_id)},
                    {"ipu arch id", std::to_string(device.ipu_arch_id)},
                    {"ipu id", std::to_string(device.ipu_id)},
                    {"chip id", device.chip_id},
                    {"gateway software version", device.gwsw_version},
                    {"ipu-machine software version", device.ipum_sw_version}};
  return ipu;
}

Grant grant_of(const IpuofConfig& whole, const std::vector<uint32_t>& device_numbers,
               const std::vector<uint32_t>& granted) {
  IpuofConfig slice{{}, whole.attributes};
  for (size_t i = 0; i < whole.devices.size(); ++i) {
    const auto at = std::find(granted.begin(), granted.end(), device_numbers[i]);
    if (at != granted.end()) slice.devices.push_back(whole.devices[i]);
  }
  return Grant{{slice}, "", {}};
}

Pool pool_of(const IpuofConfig& config) {
  const std::vector<uint32_t> numbers = numbers_of(config.devices);
  const uint32_t last = *std::max_element(numbers.begin(), numbers.end());
  const Topology topology = Topology::of_pod((last / kIpusPerMachine + 1) * kIpusPerMachine);
  Pool pool;
  for (uint32_t i = 0; i < topology.domains(); ++i) pool.domains.push_back(topology.size_of(i));
  pool.ipus.resize(topology.ipus());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const IpuofDevice& device = config.devices[i];
    pool.ipus[numbers[i]] = str(device.ip, ":", device.device_id);
    pool.attributes.push_back(attributes_of(device));
  }
  for (uint32_t i = 0; i < topology.ipus(); ++i) {
    if (pool.ipus[i].empty()) local::taint(pool, i, "is not in the IPUoF file");
  }
  const Status reconfigurable = local::check_reconfigurable(config);
  if (!reconfigurable.ok()) pool.why_no_create = reconfigurable.error().message();
  pool.grant = [config, numbers](const std::vector<uint32_t>& granted) {
    return grant_of(config, numbers, granted);
  };
  pool.number_of = [topology](const IpuPlace& name) { return topology.number_of(name); };
  return pool;
}

// Returns the part of the pool WHOLE with the IPUs of PART.
Result<Pool> part_of(Pool whole, const Block& part, const std::string& file) {
  const Topology all(whole.domains);
  if (part.first >= all.ipus()) {
    return Error(
        Code::kInvalid,
        str("IPUoF file ", quote(file), " has IPUs 0 to ", all.ipus() - 1, ", but 'part' is", " \"",
            part.first, "-", part.first + part.size - 1, "\"; correct 'part' of the", " pool"));
  }
  const uint32_t size = std::min(part.size, all.ipus() - part.first);
  const Topology topology = Topology::of_pod(size);
  Pool pool;
  for (uint32_t i = 0; i < topology.domains(); ++i) pool.domains.push_back(topology.size_of(i));
  pool.ipus.assign(whole.ipus.begin() + part.first, whole.ipus.begin() + part.first + size);
  for (const TaintedIpu& ipu : whole.tainted) {
    const uint32_t number = all.number_of(ipu.place).value();
    if (number >= part.first) local::taint(pool, number - part.first, ipu.reason);
  }
  for (const IpuAttributes& ipu : whole.attributes) {
    const std::string name = str(ipu.agent, ":", ipu.ipu);
    if (std::find(pool.ipus.begin(), pool.ipus.end(), name) != pool.ipus.end())
      pool.attributes.push_back(ipu);
  }
  pool.why_no_create = whole.why_no_create;
  pool.grant = [grant = whole.grant, first = part.first](std::vector<uint32_t> numbers) {
    for (uint32_t& number : numbers) number += first;
    return grant(numbers);
  };
  pool.number_of = [topology](const IpuPlace& name) { return topology.number_of(name); };
  return pool;
}

Result<Pool> look(const IpuofOptions& options) {
  const IpuofConfig config = TRY(read_ipuof_file(options.file));
  Pool pool = pool_of(config);
  for (const uint32_t number : options.taints) {
    local::taint(pool, number, "is tainted in the configuration");
  }
  if (options.part) pool = TRY(part_of(std::move(pool), *options.part, options.file));
  local::taint(pool, options.bad);
  return pool;
}

}  // namespace

std::unique_ptr<Controller> make_ipuof_controller(IpuofOptions options) {
  local::LocalOptions local{options.pool, options.state_file, "ipuof", {}};
  local.look = [options = std::move(options)] { return look(options); };
  return local::make_local_controller(std::move(local));
}

}  // namespace vipu
