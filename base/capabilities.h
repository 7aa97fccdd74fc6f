// SPDX-License-Identifier: Apache-2.0
// Giving up capabilities for good. Raw system calls only, so that the child of a fork may call it.
#pragma once

namespace base {

// Empties the bounding set of the calling thread, so that no execve gives it a capability. True if
// it is empty, also if it was before. False with errno EPERM: CAP_SETPCAP is missing.
[[nodiscard]] bool clear_bounding_set();

// Empties the effective, permitted, inheritable and ambient sets of the calling thread. Needs no
// privilege. False with errno.
[[nodiscard]] bool clear_capabilities();

}  // namespace base
