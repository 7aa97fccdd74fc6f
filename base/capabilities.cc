// SPDX-License-Identifier: Apache-2.0
#include "base/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace base {

bool clear_bounding_set() {
  // The kernel numbers capabilities without gaps, and returns an error after the last.
  constexpr int kMax = 64;
  for (int capability = 0; capability < kMax; ++capability) {
    const int held = ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (held < 0) return true;
    if (held == 1 && ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return false;
  }
  return true;
}

bool clear_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  // This also reduces the ambient set, which never exceeds the permitted and inheritable ones.
  return ::syscall(SYS_capset, &header, none) == 0;
}

}  // namespace base
