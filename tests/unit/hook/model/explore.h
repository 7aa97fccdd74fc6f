// SPDX-License-Identifier: Apache-2.0
// The model of leases, explored, as text.
#pragma once

#include <string>

#include "base/text.h"
#include "tests/unit/hook/model/explorer.h"
#include "tests/unit/hook/model/lease_model.h"

namespace model {

inline Explored explore(const Rules& rules, const Bounds& bounds) {
  constexpr uint32_t kMostStates = 20'000'000;
  const LeaseModel model(rules, bounds);
  return Explorer<LeaseModel>(model).run(kMostStates);
}

// What is wrong, and the shortest way there.
inline std::string text_of(const Explored& explored) {
  if (explored.wrong.empty()) return base::str("nothing is wrong in ", explored.states, " states");
  return base::str(explored.wrong, ", after\n  ", base::join(explored.trace, "\n  "), "\n");
}

}  // namespace model
