// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/vipu/contract/controller_rigs.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "base/text.h"
#include "tests/support/fake_controller.h"
#include "tests/support/local_hosts.h"
#include "tests/support/simulator_process.h"
#include "vipu/process_controller.h"

namespace test {
namespace {

using std::chrono::milliseconds;
using vipu::Controller;

class FakeRig final : public Rig {
 public:
  explicit FakeRig(milliseconds create_delay) { fake_.set_create_delay(create_delay); }
  Controller& first() override { return fake_; }
  Controller& second() override { return fake_; }
  void take_down() override { fake_.set_unreachable(true); }

 private:
  FakeController fake_;
};

class RealRig final : public Rig {
 public:
  explicit RealRig(milliseconds create_delay)
      : simulator_(PROGRAM_DIR "/vipu-simulator",
                   {"--listen", "127.0.0.1:0", "--pod", "pod16", "--create-delay",
                    base::str(create_delay.count(), "ms")}),
        address_(simulator_.wait_until_ready()) {}
  Controller& first() override { return *first_; }
  Controller& second() override { return *second_; }
  void take_down() override { EXPECT_EQ(simulator_.end(SIGTERM), 0) << simulator_.output(); }

 private:
  [[nodiscard]] std::unique_ptr<Controller> make() const {
    return vipu::make_process_controller({PROGRAM_DIR "/ipu-vipu-client", {.address = address_}});
  }

  SimulatorProcess simulator_;
  std::string address_;
  std::unique_ptr<Controller> first_ = make();
  std::unique_ptr<Controller> second_ = make();
};

template <typename Host>
class LocalRig final : public Rig {
 public:
  Controller& first() override { return *first_; }
  Controller& second() override { return *second_; }
  void take_down() override { host_.remove_source(); }

 private:
  Host host_;
  std::unique_ptr<Controller> first_ = host_.controller();
  std::unique_ptr<Controller> second_ = host_.controller();
};

}  // namespace

std::vector<Subject> subjects() {
  Traits real;
  real.cluster = "c-pod16";
  real.processes = 8;
  real.rounds = 3;
  Traits ipuof;
  ipuof.takes_time = ipuof.has_gcds = ipuof.has_address = ipuof.is_remote = false;
  ipuof.processes = 8;
  ipuof.rounds = 25;
  Traits pcie = ipuof;
  pcie.grants_cards = pcie.makes_devices = true;
  return {{"Fake", {}, [](milliseconds delay) { return std::make_unique<FakeRig>(delay); }},
          {"Real", real, [](milliseconds delay) { return std::make_unique<RealRig>(delay); }},
          {"Ipuof", ipuof, [](milliseconds) { return std::make_unique<LocalRig<IpuofHost>>(); }},
          {"Pcie", pcie, [](milliseconds) { return std::make_unique<LocalRig<PcieHost>>(); }}};
}

}  // namespace test
