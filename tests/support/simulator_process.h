// SPDX-License-Identifier: Apache-2.0
// SimulatorProcess: a running vipu-simulator on a free loopback port, ended with the object.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"

namespace test {

class SimulatorProcess {
 public:
  // Starts PROGRAM with ARGS. Its standard output and standard error are collected together.
  SimulatorProcess(const std::string& program, std::vector<std::string> args);
  SimulatorProcess(const SimulatorProcess&) = delete;
  SimulatorProcess& operator=(const SimulatorProcess&) = delete;
  ~SimulatorProcess();

  // The address of its ready line, "127.0.0.1:PORT"; empty if it ended without one, or in 10 s.
  std::string wait_until_ready();
  // Sends SIGNAL (0: none), and gives the exit status; -1 if it was killed, as it is after 10 s.
  int end(int signal);
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  bool read_some(const base::Deadline& deadline);
  pid_t pid_ = -1;
  base::Fd out_;
  std::string output_;
};

}  // namespace test
