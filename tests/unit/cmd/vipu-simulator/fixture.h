// SPDX-License-Identifier: Apache-2.0
// A running vipu-simulator and a client of it, for tests of the program.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/simulator_client.h"
#include "tests/support/simulator_process.h"
#include "tests/support/temp_dir.h"

namespace test {

class SimulatorFixture : public testing::Test {
 protected:
  // Starts it on a free port with short delays, unless ARGS say otherwise, and waits until it is
  // ready.
  void start(std::vector<std::string> args) {
    for (const auto& [option, value] :
         {std::pair("--listen", "127.0.0.1:0"), std::pair("--create-delay", "1ms")}) {
      if (std::find(args.begin(), args.end(), option) == args.end()) {
        args.insert(args.end(), {option, value});
      }
    }
    simulator_.reset();
    simulator_ = std::make_unique<SimulatorProcess>(PROGRAM_DIR "/vipu-simulator", args);
    address_ = simulator_->wait_until_ready();
    ASSERT_NE(address_, "") << simulator_->output();
    client_ = std::make_unique<SimulatorClient>(address_);
  }

  // What `vipu-simulator control` prints for this command; the control socket is dir_/control.
  std::string control(const std::string& command, const std::string& argument = "") {
    std::vector<std::string> args = {"control", dir_ / "control", command};
    if (!argument.empty()) args.push_back(argument);
    SimulatorProcess process(PROGRAM_DIR "/vipu-simulator", args);
    control_exit_ = process.end(0);
    return process.output();
  }
  void control_succeeds(const std::string& command, const std::string& argument = "") {
    const std::string reply = control(command, argument);
    EXPECT_EQ(control_exit_, 0) << reply;
  }

  std::string write(const std::string& name, const std::string& content) {
    const base::FileAttributes plain{0600, std::nullopt, std::nullopt};
    EXPECT_TRUE(succeeds(base::write_atomic(dir_ / name, content, plain)));
    return dir_ / name;
  }
  std::string read(const std::string& name) {
    return base::read_file(dir_ / name, size_t{1} << 20).take();
  }

  SimulatorClient& client() { return *client_; }
  SimulatorProcess& simulator() { return *simulator_; }

  TempDir dir_;
  std::string address_;
  int control_exit_ = 0;

 private:
  std::unique_ptr<SimulatorProcess> simulator_;
  std::unique_ptr<SimulatorClient> client_;
};

}  // namespace test
