// SPDX-License-Identifier: Apache-2.0
#include "base/rlimit.h"

#include <sys/capability.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>

namespace base {
namespace {

struct FreeCapabilities {
  void operator()(cap_t capabilities) const { (void)cap_free(capabilities); }
};

}  // namespace

Result<uint64_t> highest_memlock() {
  const std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCapabilities> mine(cap_get_proc());
  cap_flag_value_t held = CAP_CLEAR;
  if (mine == nullptr || cap_get_flag(mine.get(), CAP_SYS_RESOURCE, CAP_EFFECTIVE, &held) != 0) {
    return Error::from_errno(errno, "read the capabilities of this process");
  }
  if (held == CAP_SET) return RLIM_INFINITY;
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    return Error::from_errno(errno, "read the limit of locked memory");
  }
  return limit.rlim_max;
}

Status set_memlock(pid_t pid, uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  if (::prlimit(pid, RLIMIT_MEMLOCK, &limit, nullptr) == 0) return {};
  return Error::from_errno(errno, "set the limit of locked memory");
}

}  // namespace base
