// SPDX-License-Identifier: Apache-2.0
// Prints how much of a POD each placement policy can use, beside the figures that the choice of
// best fit was made with.
#include "tests/support/fragmentation.h"

#include <cstdio>

namespace {

constexpr double kLoad = 0.9;

struct Row {
  const char* name;
  test::Figures reference;
  uint32_t ipus;
  test::Policy policy;
};

using test::Policy;
constexpr Row kRows[] = {
    {"best-fit buddy", {0.891, 0.035, 0.518}, 64, Policy::kBestFit},
    {"random aligned", {0.844, 0.120, 0.403}, 64, Policy::kRandom},
    {"worst-fit", {0.814, 0.158, 0.345}, 64, Policy::kWorstFit},
    {"best-fit buddy", {0.953, 0.032, 0.685}, 256, Policy::kBestFit},
    {"first-fit by address", {0.953, 0.035, 0.675}, 256, Policy::kFirstFit},
    {"random aligned", {0.893, 0.107, 0.471}, 256, Policy::kRandom},
    {"worst-fit", {0.833, 0.167, 0.356}, 256, Policy::kWorstFit},
};

}  // namespace

int main() {
  std::printf("Placement at an offered load of %.1f; in brackets: the reference simulation\n",
              kLoad);
  std::printf("%-5s %-21s %-15s %-15s %-15s\n", "IPUs", "policy", "admitted", "fragmented",
              "utilisation");
  for (const Row& row : kRows) {
    const test::Figures ours = test::simulate(row.policy, {.ipus = row.ipus, .load = kLoad});
    std::printf("%-5u %-21s %.3f (%.3f)   %.3f (%.3f)   %.3f (%.3f)\n", row.ipus, row.name,
                ours.admitted, row.reference.admitted, ours.fragmented, row.reference.fragmented,
                ours.utilisation, row.reference.utilisation);
  }
  return 0;
}
