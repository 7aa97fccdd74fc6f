// SPDX-License-Identifier: Apache-2.0
// Control: changes that a test makes to the POD and the controller without their clients.
#pragma once

#include <string>
#include <string_view>

#include "cmd/vipu-simulator/call_log.h"
#include "cmd/vipu-simulator/server.h"
#include "cmd/vipu-simulator/service.h"
#include "cmd/vipu-simulator/shared_model.h"

namespace simulator {

class Control {
 public:
  // The limit for a request line and a reply line, in bytes.
  static constexpr size_t kMaxLine = size_t{1} << 20;

  Control(SharedModel& store, CallLog& log, Faults& faults, Server& server)
      : store_(store), log_(log), faults_(faults), server_(server) {}

  // Returns the reply line to {"command":"agent-down","argument":"ag3"}: {"ok":true,...}, or, with
  // nothing changed, {"ok":false,"error":"..."}. vipu-simulator(1) lists the commands.
  std::string answer(std::string_view line);

 private:
  SharedModel& store_;
  CallLog& log_;
  Faults& faults_;
  Server& server_;
};

// Runs `vipu-simulator control PATH COMMAND [ARGUMENT]`: sends one command to the simulator whose
// control socket is at PATH, and prints the reply. Returns the exit status: 0 on success.
int run_control(int argc, char** argv);

}  // namespace simulator
