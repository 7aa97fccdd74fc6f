// SPDX-License-Identifier: Apache-2.0
// LeaseModel: the life of leases as a model for the Explorer.
#pragma once

#include <string>
#include <string_view>

#include "tests/unit/hook/model/steps.h"

namespace model {

class LeaseModel {
 public:
  using State = World;

  LeaseModel(const Rules& rules, const Bounds& bounds) : rules_(rules), bounds_(bounds) {}

  [[nodiscard]] World first() const { return {}; }

  template <typename Taker>
  void next(const World& world, const Taker& take) const {
    const Emit emit = [&](const World& after, const Outcome& step) { take(after, step); };
    for (uint8_t start = 0; start < bounds_.starts; ++start) {
      step_starter(world, rules_, bounds_, start, emit);
      step_hook(world, rules_, start, emit);
    }
    for (uint8_t i = 0; i < bounds_.releasers; ++i) {
      step_release(world, rules_, releaser(i), emit);
    }
    step_environment(world, rules_, bounds_, emit);
  }

  // What must be true in every state, and that one reconcile would leave nothing from here.
  [[nodiscard]] std::string_view wrong(const World& world) const;

  [[nodiscard]] std::string describe(const Outcome& step) const;

 private:
  // What is wrong after all that can end has ended and one reconcile ran undisturbed.
  [[nodiscard]] std::string_view wrong_after_reconcile(World world) const;

  Rules rules_;
  Bounds bounds_;
};

}  // namespace model
