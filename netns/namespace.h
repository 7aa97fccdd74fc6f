// SPDX-License-Identifier: Apache-2.0
// Handles to network namespaces. No function here leaves the calling thread in another namespace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace netns {

// The identity of a namespace. Equal identities mean the same namespace. Device and inode can be
// reused; the cookie (SO_NETNS_COOKIE) is never reused while the machine is up.
struct Identity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t cookie = 0;
  bool operator==(const Identity&) const = default;
};

// A reference to a network namespace. Holding one keeps the namespace alive.
class Namespace {
 public:
  static base::Result<Namespace> current();
  // Returns kNotFound if the process is gone.
  static base::Result<Namespace> of_process(pid_t pid);
  // Opens a path such as /run/docker/netns/x or /proc/PID/ns/net. Returns kInvalid if it is not a
  // network namespace.
  static base::Result<Namespace> at(const std::string& path);

  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Namespace(base::Fd fd, const Identity& identity) : fd_(std::move(fd)), identity_(identity) {}
  static base::Result<Namespace> from_fd(base::Fd fd, const std::string& what);
  base::Fd fd_;
  Identity identity_;
};

}  // namespace netns
