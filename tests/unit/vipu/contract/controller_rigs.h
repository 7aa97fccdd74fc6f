// SPDX-License-Identifier: Apache-2.0
// Rigs: every kind of vipu::Controller, each over 16 IPUs of its own, for the contract suite.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "vipu/controller.h"

namespace test {

// A source of 16 IPUs, and what a test may do behind the back of its controllers.
class Rig {
 public:
  Rig() = default;
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  virtual ~Rig() = default;
  // Two controllers of the same source, as two processes have them.
  virtual vipu::Controller& first() = 0;
  virtual vipu::Controller& second() = 0;
  virtual void take_down() = 0;
};

// What a kind of controller is, where kinds differ.
struct Traits {
  bool takes_time = true;      // a partition is PENDING at first
  bool has_gcds = true;        // a partition may have several
  bool has_address = true;     // of a controller, in a grant
  bool grants_cards = false;   // and not IPUs over the fabric
  bool is_remote = true;       // nothing can be done while it is down
  bool makes_devices = false;  // of the host it runs on
  const char* cluster = "";    // that a request for named IPUs needs
  int processes = 1;           // that can use the source at a time
  int rounds = 1;              // of each of them
};

struct Subject {
  const char* name;
  Traits traits;
  std::function<std::unique_ptr<Rig>(std::chrono::milliseconds create_delay)> make;
};

inline void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

// The fake; the real chain of process_controller, the built ipu-vipu-client, gRPC and the built
// vipu-simulator; ipuof; pcie.
std::vector<Subject> subjects();

}  // namespace test
