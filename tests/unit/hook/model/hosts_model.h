// SPDX-License-Identifier: Apache-2.0
// HostsModel: two hosts and one controller as a model for the Explorer. Whose a name is, and on
// which host a ledger is, the functions of the product decide.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tests/unit/hook/model/hosts_world.h"

namespace model::hosts {

// The rules as they are by default are the product's; each change of one is a mistake.
struct Rules {
  // LedgerHost::check(): a ledger of another host changes nothing.
  bool knows_its_host = true;
  // vipu::MadeName::host; without it all hosts give the same digits.
  bool names_say_host = true;
  // Rebuilder::disown(): who rebuilds a copied ledger takes digits of its own.
  bool rebuilds_as_itself = true;
  // create() in the client: a partition that is found by a name of people's is not taken for one's
  // own after a lost answer.
  bool doubts_found_names = true;
  // leave_unsure(): gc reports a partition of such a name, and does not remove it.
  bool leaves_names_to_people = true;
  // request_removal() in the client: the removal of such a name is not repeated.
  bool removes_names_once = true;
  // remove_of_earlier_boots(): the ledger is asked after the controller.
  bool asks_ledger_last = true;
  // fence_host(): the fence is recorded when the partitions are gone.
  bool removes_before_fence = true;
};

// What there is to happen.
struct Bounds {
  uint8_t starts = 0;     // on each host
  uint8_t creations = 0;  // of the partition that people name, on each host
  bool power = false;     // hosts lose it, come back, and are fenced
  bool diskless = false;  // a host that loses power loses its ledger
  bool copy = false;      // the second host gets a copy of the first one's disk
};

struct Outcome {
  uint8_t host = 0;
  const char* what = "";
  std::string_view wrong = {};  // with the step itself
};
using Emit = std::function<void(const World&, const Outcome&)>;

// Returns whether NAME, as text, is one of the host with these digits.
[[nodiscard]] bool is_of(const Name& name, uint8_t digits);
// Returns whether NAME, as text, is given once.
[[nodiscard]] bool is_unique(const Name& name);
// Returns whether a ledger of host RECORDED is at home on HOST, which has the same machine-id.
[[nodiscard]] bool is_at_home(uint8_t recorded, uint8_t host);

// The controller makes a partition for HOST. Returns whether it has room, and no other of that
// name.
bool make_partition(World& world, uint8_t host, const Name& name);
// What HOST removes of the partition called NAME; the result says what is wrong with that.
std::string_view remove_partition(World& world, uint8_t host, const Name& name);
// Whether HOST's ledger may be changed. One that has none gets it.
bool begin_change(World& world, const Rules& rules, uint8_t host);

void step_worker(const World& world, const Rules& rules, const Bounds& bounds, uint8_t host,
                 const Emit& emit);
void step_keeper(const World& world, const Rules& rules, const Bounds& bounds, uint8_t host,
                 const Emit& emit);

class HostsModel {
 public:
  using State = World;

  HostsModel(const Rules& rules, const Bounds& bounds) : rules_(rules), bounds_(bounds) {}

  [[nodiscard]] World first() const { return {}; }

  template <typename Taker>
  void next(const World& world, const Taker& take) const {
    const Emit emit = [&](const World& after, const Outcome& step) { take(after, step); };
    for (uint8_t host = 0; host < kHosts; ++host) {
      step_worker(world, rules_, bounds_, host, emit);
      step_keeper(world, rules_, bounds_, host, emit);
      step_environment(world, host, emit);
    }
  }

  [[nodiscard]] std::string_view wrong(const World& world) const;
  [[nodiscard]] std::string describe(const Outcome& step) const;

 private:
  // Processes are killed, containers end, late requests arrive, hosts lose power, disks are copied.
  void step_environment(const World& world, uint8_t host, const Emit& emit) const;
  // What is left after one gc on each host that runs, and a fence of each that does not.
  [[nodiscard]] std::string_view wrong_after_gc(World world) const;

  Rules rules_;
  Bounds bounds_;
};

}  // namespace model::hosts
