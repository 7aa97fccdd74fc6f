// SPDX-License-Identifier: Apache-2.0
#include "base/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/text.h"

namespace base {
namespace {

constexpr size_t kAround = 3;
constexpr size_t kMaxCells = 1 << 22;  // of the table in compare()

using Lines = std::vector<std::string_view>;

struct Line {
  char mark = ' ';
  std::string_view text;
};

Lines lines_of(std::string_view text) {
  Lines lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

void add(char mark, const Lines& lines, size_t from, size_t to, std::vector<Line>& diff) {
  for (size_t i = from; i < to; ++i) diff.push_back({mark, lines[i]});
}

// Compares by the longest common subsequence of OLD and NOW.
std::vector<Line> compare(const Lines& old, const Lines& now) {
  std::vector<Line> diff;
  const size_t width = now.size() + 1;
  if ((old.size() + 1) * width > kMaxCells) {
    add('-', old, 0, old.size(), diff);
    add('+', now, 0, now.size(), diff);
    return diff;
  }
  // The number of common lines after each pair of positions.
  std::vector<uint32_t> common((old.size() + 1) * width);
  for (size_t i = old.size(); i-- > 0;) {
    for (size_t j = now.size(); j-- > 0;) {
      common[i * width + j] =
          old[i] == now[j] ? common[(i + 1) * width + j + 1] + 1
                           : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  size_t i = 0;
  size_t j = 0;
  while (i < old.size() && j < now.size()) {
    if (old[i] == now[j]) {
      diff.push_back({' ', old[i]});
      ++i;
      ++j;
    } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) {
      diff.push_back({'-', old[i++]});
    } else {
      diff.push_back({'+', now[j++]});
    }
  }
  add('-', old, i, old.size(), diff);
  add('+', now, j, now.size(), diff);
  return diff;
}

// Keeps only the equal lines that are near a differing one.
std::string with_gaps(const std::vector<Line>& diff) {
  std::vector<bool> is_shown(diff.size());
  for (size_t i = 0; i < diff.size(); ++i) {
    if (diff[i].mark == ' ') continue;
    const size_t last = std::min(diff.size(), i + kAround + 1);
    for (size_t near = i - std::min(i, kAround); near < last; ++near) is_shown[near] = true;
  }
  std::string text;
  for (size_t i = 0; i < diff.size(); ++i) {
    if (is_shown[i]) {
      text += str(diff[i].mark, diff[i].text, "\n");
    } else if (i > 0 && is_shown[i - 1] &&
               std::find(is_shown.begin() + static_cast<long>(i), is_shown.end(), true) !=
                   is_shown.end()) {
      text += "@@\n";
    }
  }
  return text;
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after) {
  if (before == after) return "";
  Lines old = lines_of(before);
  Lines now = lines_of(after);
  // Equal lines at both ends need no comparison.
  const size_t shorter = std::min(old.size(), now.size());
  size_t head = 0;
  while (head < shorter && old[head] == now[head]) ++head;
  size_t tail = 0;
  while (tail < shorter - head && old[old.size() - 1 - tail] == now[now.size() - 1 - tail]) ++tail;
  const auto middle = [&](const Lines& lines) {
    return Lines(lines.begin() + static_cast<long>(head), lines.end() - static_cast<long>(tail));
  };
  std::vector<Line> diff;
  add(' ', old, 0, head, diff);
  const std::vector<Line> different = compare(middle(old), middle(now));
  diff.insert(diff.end(), different.begin(), different.end());
  add(' ', old, old.size() - tail, old.size(), diff);
  return with_gaps(diff);
}

}  // namespace base
