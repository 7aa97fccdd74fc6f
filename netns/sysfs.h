// SPDX-License-Identifier: Apache-2.0
// The devices of another network namespace, as its sysfs shows them.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "netns/namespace.h"

namespace netns {

// A sysfs of one namespace, mounted nowhere; it ends with this object. Needs CAP_SYS_ADMIN and
// Linux 5.2.
class Sysfs {
 public:
  static base::Result<Sysfs> of(const Namespace& ns);
  // Returns the path of this sysfs for this process: "/proc/self/fd/N".
  [[nodiscard]] std::string path() const;

 private:
  explicit Sysfs(base::Fd root) : root_(std::move(root)) {}
  base::Fd root_;
};

}  // namespace netns
