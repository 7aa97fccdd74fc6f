// SPDX-License-Identifier: Apache-2.0
#include "base/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace base {

namespace {

// Drops all but KEPT from the bounding set.
bool bound(uint64_t kept) {
  // The kernel numbers capabilities without gaps, and knows none after the last.
  constexpr int kMax = 64;
  for (int capability = 0; capability < kMax; ++capability) {
    const bool is_kept = (kept >> capability & 1) != 0;
    if (is_kept || ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
    if (errno == EINVAL) return true;
    // Without CAP_SETPCAP the kernel refuses also to drop what is dropped.
    if (::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1) return false;
  }
  return true;
}

}  // namespace

bool clear_bounding_set() { return bound(0); }

bool clear_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  // This also reduces the ambient set, which never exceeds the permitted and inheritable ones.
  return ::syscall(SYS_capset, &header, none) == 0;
}

bool keep_capabilities(uint64_t kept) {
  if (!bound(kept) && errno != EPERM) return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, sets) != 0) return false;
  for (__user_cap_data_struct& half : sets) {
    const auto bits = static_cast<uint32_t>(kept);
    half = {half.effective & bits, half.permitted & bits, 0};
    kept >>= 32;
  }
  return ::syscall(SYS_capset, &header, sets) == 0;
}

}  // namespace base
