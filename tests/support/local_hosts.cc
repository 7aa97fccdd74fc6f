// SPDX-License-Identifier: Apache-2.0
#include "tests/support/local_hosts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "vipu/placement.h"

namespace test {

using base::str;

IpuofHost::IpuofHost(uint32_t machines) {
  config.attributes = {{"GCD Id", "0"}, {"Fabric Reconfigurable", "true"}, {"Routing", "0,1;2,3"}};
  for (uint32_t i = 0; i < machines * vipu::kIpusPerMachine; ++i) {
    vipu::IpuofDevice device;
    device.ip = str("10.5.1.", i / vipu::kIpusPerMachine + 1);
    device.device_id = 3 - i % vipu::kIpusPerMachine;
    device.server_port = 50052;
    device.rdma_port = 50152;
    device.routing_id = 7 * i;
    device.ipu_id = i;
    device.chip_id = str("chip-", i);
    config.devices.push_back(device);
  }
  write(config);
}

std::unique_ptr<vipu::Controller> IpuofHost::controller(std::vector<uint32_t> taints) const {
  return vipu::make_ipuof_controller({"slices", file, state_file, std::move(taints)});
}

void IpuofHost::write(const vipu::IpuofConfig& changed) const {
  write_text(vipu::to_ipuof_file(changed));
}

void IpuofHost::write_text(const std::string& text) const {
  std::ofstream out(file);
  EXPECT_TRUE(out << text) << file;
}

void IpuofHost::remove_source() const { EXPECT_TRUE(succeeds(base::remove_file(file))); }

bool can_make_devices() {
  const TempDir dir;
  return ::mknod((dir / "null").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
}

PcieHost::PcieHost(uint32_t cards) {
  EXPECT_TRUE(succeeds(base::ensure_dir(dir / "dev", 0755)));
  EXPECT_TRUE(succeeds(base::ensure_dir(dir / "sys/bus/pci/devices", 0755)));
  for (uint32_t i = 0; i < cards; ++i) add_card(i, i);
}

vipu::PcieOptions PcieHost::options() const {
  return {"cards", state_file, dir / "sys", dir / "dev"};
}

std::string PcieHost::pci_of(uint32_t slot) {
  std::string hex = "00";
  hex[0] = "0123456789abcdef"[slot / 16 % 16];
  hex[1] = "0123456789abcdef"[slot % 16];
  return str("0000:", hex, ":00.0");
}

void PcieHost::add_card(uint32_t slot, uint32_t number) const {
  EXPECT_TRUE(succeeds(base::ensure_dir(dir / ("sys/bus/pci/devices/" + pci_of(slot)), 0755)));
  set_attribute(slot, "file_name", str(number, "\n"));
  set_attribute(slot, "vendor", "0x1d95\n");
  set_attribute(slot, "numa_node", str(slot / 8, "\n"));
  for (const char* suffix : {"", "_ex", "_mem"}) add_node(str("ipu", number, suffix));
}

void PcieHost::remove_card(uint32_t slot) const {
  std::filesystem::remove_all(dir / ("sys/bus/pci/devices/" + pci_of(slot)));
}

void PcieHost::set_attribute(uint32_t slot, const std::string& name,
                             const std::string& value) const {
  const std::string path = str("sys/bus/pci/devices/", pci_of(slot), "/", name);
  std::ofstream file(dir / path);
  EXPECT_TRUE(file << value) << path;
}

void PcieHost::add_node(const std::string& name) const {
  const int made = ::mknod((dir / ("dev/" + name)).c_str(), S_IFCHR | 0600, makedev(1, 3));
  EXPECT_TRUE(made == 0 || errno == EEXIST) << name << ": " << std::strerror(errno);
}

void PcieHost::remove_node(const std::string& name) const {
  EXPECT_TRUE(succeeds(base::remove_file(dir / ("dev/" + name))));
}

void PcieHost::remove_source() const { std::filesystem::remove_all(dir / "sys"); }

}  // namespace test
