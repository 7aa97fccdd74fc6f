// SPDX-License-Identifier: Apache-2.0
// Fd: the owner of one file descriptor.
#pragma once

#include <utility>

namespace base {

// Owns a descriptor and closes it. Move-only. Has no conversion to int or bool, because `!fd` is
// wrong for descriptor 0. Closing keeps errno and is never retried (Linux frees the number first).
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

}  // namespace base
