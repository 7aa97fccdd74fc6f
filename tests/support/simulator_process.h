// SPDX-License-Identifier: Apache-2.0
// SimulatorProcess: a vipu-simulator on a free loopback port, which ends with the object.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"

namespace test {

class SimulatorProcess {
 public:
  // Starts PROGRAM with ARGS. Collects standard output and standard error together.
  SimulatorProcess(const std::string& program, std::vector<std::string> args);
  SimulatorProcess(const SimulatorProcess&) = delete;
  SimulatorProcess& operator=(const SimulatorProcess&) = delete;
  ~SimulatorProcess();

  // Returns the address in its ready line, "127.0.0.1:PORT"; empty if it ends without one, or after
  // 10 s.
  std::string wait_until_ready();
  // Sends SIGNAL (0: none) and returns the exit status; -1 if it was killed, by force after 10 s.
  int end(int signal);
  // Sends SIGNAL, and waits for nothing.
  void send(int signal) const { (void)::kill(pid_, signal); }
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  bool read_some(const base::Deadline& deadline);
  pid_t pid_ = -1;
  base::Fd out_;
  std::string output_;
};

}  // namespace test
