// SPDX-License-Identifier: Apache-2.0
// Dropping capabilities for good. Uses raw system calls only, so that the child of a fork may call
// it.
#pragma once

#include <cstdint>

namespace base {

// Empties the bounding set of the calling thread, so that no execve grants a capability. Returns
// true if the set is empty, even if it was empty before. Returns false with errno EPERM without
// CAP_SETPCAP.
[[nodiscard]] bool clear_bounding_set();

// Empties the effective, permitted, inheritable and ambient sets of the calling thread. Needs no
// privilege. Returns false with errno on failure.
[[nodiscard]] bool clear_capabilities();

// Takes from the calling thread all capabilities but those of KEPT, where bit N is capability N.
// The inheritable and the ambient set become empty. The bounding set loses the others too, except
// without CAP_SETPCAP. Needs no privilege. Returns false with errno on failure.
[[nodiscard]] bool keep_capabilities(uint64_t kept);

}  // namespace base
