// SPDX-License-Identifier: Apache-2.0
// Whether a running engine knows a runtime.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/engines/engine.h"

namespace hook::engines {

enum class Listed { kYes, kNo, kUnknown };

struct Listing {
  Listed listed = Listed::kUnknown;
  std::string why = {};  // why it is unknown
};

// Returns whether ENGINE, with DAEMONS that read the file PATH, knows the runtime NAME. Asks
// dockerd on its own socket, whatever the caller's environment and contexts say, and podman with a
// separate storage, so that the user's stays untouched. containerd reads its file at start: the
// answer is yes if it started after PATH was written. CRI-O may have reread its files since it
// started, which cannot be seen.
[[nodiscard]] Listing find_listing(Engine engine, const std::vector<Daemon>& daemons,
                                   const std::string& path, const std::string& name,
                                   const base::Deadline& deadline);

}  // namespace hook::engines
