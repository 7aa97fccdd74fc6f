// SPDX-License-Identifier: Apache-2.0
#include "base/spelling.h"

#include <algorithm>
#include <array>

namespace base {
namespace {

constexpr size_t kLongestWord = 64;

// Returns in how many steps LEFT becomes RIGHT, each of at most kLongestWord characters. A step
// inserts, removes or replaces a character, or swaps two neighbours (optimal string alignment).
size_t distance(std::string_view left, std::string_view right) {
  std::array<std::array<size_t, kLongestWord + 1>, kLongestWord + 1> steps{};
  for (size_t i = 0; i <= left.size(); ++i) steps[i][0] = i;
  for (size_t j = 0; j <= right.size(); ++j) steps[0][j] = j;
  for (size_t i = 1; i <= left.size(); ++i) {
    for (size_t j = 1; j <= right.size(); ++j) {
      const size_t replaced = steps[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      steps[i][j] = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, replaced});
      const bool is_swap =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (is_swap) steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[left.size()][right.size()];
}

// A short name has many neighbours that mean something else: one step in each five characters.
constexpr size_t kCharactersPerStep = 5;

}  // namespace

bool is_misspelled(std::string_view text, std::string_view word) {
  if (text.size() > kLongestWord || word.size() > kLongestWord) return false;
  const size_t allowed = std::max<size_t>(1, word.size() / kCharactersPerStep);
  if (text.size() > word.size() + allowed || word.size() > text.size() + allowed) return false;
  return distance(text, word) <= allowed;
}

}  // namespace base
