// SPDX-License-Identifier: Apache-2.0
// Texts without a heap.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hook::passing {

// A text in a buffer of its own, such as a path or the target of a link.
class Text {
 public:
  Text() { bytes_[0] = '\0'; }
  // Adds what fits. With the first part that does not fit, the text is whole no more.
  Text& add(std::string_view part);
  Text& add(int64_t number);
  Text& add(uint64_t number);
  // Becomes the target of the link PATH; empty if there is none.
  void read_link(const Text& path);
  // Whether every part is in it, and none has a zero byte.
  [[nodiscard]] bool is_whole() const { return is_whole_; }
  [[nodiscard]] const char* c_str() const { return bytes_; }
  [[nodiscard]] std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[PATH_MAX];
  size_t size_ = 0;
  bool is_whole_ = true;
};

// Takes the text up to the next SEPARATOR, or all of it, off the front of TEXT, and returns it.
std::string_view take_part(std::string_view& text, char separator);

}  // namespace hook::passing
