// SPDX-License-Identifier: Apache-2.0
// The devices of another network namespace, as sysfs shows them there.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "netns/namespace.h"

namespace netns {

// A sysfs of NAMESPACE that is mounted nowhere and goes with this object. Needs CAP_SYS_ADMIN, and
// Linux 5.2.
class Sysfs {
 public:
  static base::Result<Sysfs> of(const Namespace& ns);
  // Where it is for this process: "/proc/self/fd/N".
  [[nodiscard]] std::string path() const;

 private:
  explicit Sysfs(base::Fd root) : root_(std::move(root)) {}
  base::Fd root_;
};

}  // namespace netns
