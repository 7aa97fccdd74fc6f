// SPDX-License-Identifier: Apache-2.0
// Control: what a test does to the POD and the controller behind the back of its clients.
#pragma once

#include <string>
#include <string_view>

#include "cmd/vipu-simulator/call_log.h"
#include "cmd/vipu-simulator/server.h"
#include "cmd/vipu-simulator/service.h"
#include "cmd/vipu-simulator/store.h"

namespace simulator {

class Control {
 public:
  // Of a request line and a reply line, in bytes.
  static constexpr size_t kMaxLine = size_t{1} << 20;

  Control(Store& store, CallLog& log, Faults& faults, Server& server)
      : store_(store), log_(log), faults_(faults), server_(server) {}

  // The reply line to {"command":"agent-down","argument":"ag3"}: {"ok":true,...}, or
  // {"ok":false,"error":"..."} and nothing has changed. The commands: see vipu-simulator(1).
  std::string answer(std::string_view line);

 private:
  Store& store_;
  CallLog& log_;
  Faults& faults_;
  Server& server_;
};

// The program `vipu-simulator control PATH COMMAND [ARGUMENT]`: sends one command to the simulator
// whose control socket is at PATH, and prints its reply. Gives the exit status: 0 if it was done.
int run_control(int argc, char** argv);

}  // namespace simulator
