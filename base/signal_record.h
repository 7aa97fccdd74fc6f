// SPDX-License-Identifier: Apache-2.0
// What a signal handler writes about the end of its process. All of this is async-signal-safe
// (signal-safety(7)), so it makes no string.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace base {

// The limit of a file of records, in bytes; its last line may exceed it.
inline constexpr size_t kMaxRecords = 64 << 10;

// A line in a buffer. What does not fit is cut.
class RecordLine {
 public:
  RecordLine& add(std::string_view text) {
    const size_t taken = std::min(text.size(), sizeof buffer_ - size_);
    std::memcpy(buffer_ + size_, text.data(), taken);
    size_ += taken;
    return *this;
  }
  RecordLine& add_number(uint64_t number, unsigned base = 10) {
    char digits[20];
    size_t at = sizeof digits;
    do {
      digits[--at] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    return add({digits + at, sizeof digits - at});
  }
  [[nodiscard]] std::string_view text() const { return {buffer_, size_}; }

 private:
  char buffer_[512];
  size_t size_ = 0;
};

// Where records go. The path must stay valid.
struct RecordPlace {
  const char* file = "";        // absolute; its directory is root's alone
  bool on_stderr_only = false;  // see record_on_stderr_only()
};

// Writes EVENT to the end of the file, with the time before it, unless the file has reached its
// limit; to syslog; and to standard error, unless nobody reads it.
void write_record(const RecordPlace& place, std::string_view event);

}  // namespace base
