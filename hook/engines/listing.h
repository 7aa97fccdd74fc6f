// SPDX-License-Identifier: Apache-2.0
// Whether an engine that runs knows a runtime.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "hook/engines/engine.h"

namespace hook::engines {

enum class Listed { kYes, kNo, kUnknown };

struct Listing {
  Listed listed = Listed::kUnknown;
  std::string why = {};  // it is unknown
};

// Whether ENGINE, with DAEMONS that read the file PATH, knows the runtime NAME. docker and podman
// are asked: dockerd on its own socket, whatever the caller's environment and contexts say; podman
// with a storage of its own, so that nothing becomes of the user's. containerd reads its file when
// it starts: it does if it started after PATH was written. CRI-O may have read its files again
// since it started, which nothing tells.
[[nodiscard]] Listing find_listing(Engine engine, const std::vector<Daemon>& daemons,
                                   const std::string& path, const std::string& name,
                                   const base::Deadline& deadline);

}  // namespace hook::engines
