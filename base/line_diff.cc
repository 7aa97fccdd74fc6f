// SPDX-License-Identifier: Apache-2.0
#include "base/line_diff.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace base {
namespace {

constexpr size_t kAround = 3;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after) {
  if (before == after) return "";
  const std::vector<std::string_view> old = lines_of(before);
  const std::vector<std::string_view> now = lines_of(after);
  const size_t shorter = std::min(old.size(), now.size());
  size_t head = 0;
  while (head < shorter && old[head] == now[head]) ++head;
  size_t tail = 0;
  while (tail < shorter - head && old[old.size() - 1 - tail] == now[now.size() - 1 - tail]) ++tail;
  std::string text;
  const auto add = [&](char mark, const std::vector<std::string_view>& lines, size_t from,
                       size_t to) {
    for (size_t i = from; i < to; ++i) text += str(mark, lines[i], "\n");
  };
  add(' ', old, head - std::min(head, kAround), head);
  add('-', old, head, old.size() - tail);
  add('+', now, head, now.size() - tail);
  add(' ', old, old.size() - tail, old.size() - tail + std::min(tail, kAround));
  return text;
}

}  // namespace base
