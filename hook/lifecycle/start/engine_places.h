// SPDX-License-Identifier: Apache-2.0
// Where docker and containers/storage (podman, CRI-O) keep what they know of a container, found
// from its root file system. Only for .cc files of this room.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace hook::lifecycle::start {

// Returns docker's data root: the directory above ROOT that knows the container.
[[nodiscard]] std::optional<std::filesystem::path> data_root_of(const std::string& container,
                                                                const std::filesystem::path& root);
// Returns docker's file on the container.
[[nodiscard]] std::filesystem::path docker_file_of(const std::filesystem::path& data_root,
                                                   const std::string& container);

// A directory of containers/storage, and the driver that has the root file system.
struct Storage {
  std::filesystem::path graph;
  std::string driver;
};

// Returns the storage that has the container's root file system at ROOT: GRAPH/DRIVER/...
[[nodiscard]] std::optional<Storage> storage_of(const std::string& container,
                                                const std::filesystem::path& root);
// Returns what STORAGE says of the container; nothing if it does not know the container.
base::Result<std::optional<base::Json>> entry_in(const Storage& storage,
                                                 const std::string& container);

}  // namespace hook::lifecycle::start
