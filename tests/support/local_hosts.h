// SPDX-License-Identifier: Apache-2.0
// Hosts of the local providers, below a temporary directory: one with an IPUoF file, and one with
// IPU cards in PCIe slots.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"
#include "vipu/controller.h"
#include "vipu/local/ipuof.h"
#include "vipu/local/pcie.h"
#include "vipu/types.h"

namespace test {

class IpuofHost {
 public:
  // Its file has this many IPU-Machines, 10.5.1.1 and up, with their devices in the order 3 2 1 0.
  explicit IpuofHost(uint32_t machines = 4);
  std::unique_ptr<vipu::Controller> controller(std::vector<uint32_t> taints = {}) const;
  // Replaces the file.
  void write(const vipu::IpuofConfig& config) const;
  void write_text(const std::string& text) const;
  void remove_source() const;

  TempDir dir;
  vipu::IpuofConfig config;
  std::string file = dir / "p_gcd0_ipuof.conf";
  std::string state_file = dir / "pools/slices.json";
};

// Whether this process may call mknod(2) for character devices.
bool can_make_devices();

// Its devices are made with mknod(2), as copies of /dev/null: REQUIRES_DEVICES() first.
class PcieHost {
 public:
  // Cards 0 and up, with the nodes ipuN, ipuN_ex and ipuN_mem.
  explicit PcieHost(uint32_t cards = 16);
  vipu::PcieOptions options() const;
  std::unique_ptr<vipu::Controller> controller() const {
    return vipu::make_pcie_controller(options());
  }

  static std::string pci_of(uint32_t slot);  // "0000:35:00.0"
  // A card in the SLOT, with the NUMBER.
  void add_card(uint32_t slot, uint32_t number) const;
  void remove_card(uint32_t slot) const;
  void set_attribute(uint32_t slot, const std::string& name, const std::string& value) const;
  void add_node(const std::string& name) const;
  void remove_node(const std::string& name) const;
  void remove_source() const;

  TempDir dir;
  std::string state_file = dir / "pools/cards.json";
};

}  // namespace test

// In a test body or SetUp().
#define REQUIRES_DEVICES()                                     \
  do {                                                         \
    const bool can_make_them = test::can_make_devices();       \
    if (!can_make_them && test::tests_must_run()) {            \
      FAIL() << "cannot make devices";                         \
    }                                                          \
    if (!can_make_them) GTEST_SKIP() << "cannot make devices"; \
  } while (false)
