// SPDX-License-Identifier: Apache-2.0
// What others have made on the host that decides about frames of containers before the border
// (border.h) does.
//
// The order of the kernel (net/core/dev.c): what arrives passes tcx (Linux 6.6), clsact, and then
// nftables; what leaves passes nftables, tcx, and then clsact. No verdict of tcx or clsact keeps a
// frame that goes on from nftables. But the kernel skips nftables for a frame that tc redirects to
// leave by another interface.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace netns {

struct Rival {
  std::string says;      // one sentence, with what to do
  bool refuses = false;  // build_border() fails because of it; if not, frames may pass unseen
};

// Returns the gravest rival that a border by WAY (kNftables or kTc) has on PARENT. An absent parent
// has none. What an eBPF program redirects cannot be seen. Needs CAP_SYS_ADMIN.
base::Result<std::optional<Rival>> find_rival(const Namespace& host, FilterPlace way,
                                              const std::string& parent);

}  // namespace netns
