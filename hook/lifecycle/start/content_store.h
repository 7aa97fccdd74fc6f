// SPDX-License-Identifier: Apache-2.0
// The images in a content store of containerd: a file for each digest.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::lifecycle::start {

// Reads at most 16 MiB in all; what is beyond is kInvalid, as are files that readers could
// understand in different ways.
class ContentStore {
 public:
  using Variables = std::vector<std::string>;

  // ROOT is the directory that containerd's configuration calls root.
  explicit ContentStore(const std::filesystem::path& root);

  // Returns the variables of each platform of the image whose manifest or index has this DIGEST, as
  // far as the files are here.
  base::Result<std::vector<Variables>> images(const std::string& digest);

  // Returns the variables in the configuration with this DIGEST; nothing if it is not here.
  base::Result<std::optional<Variables>> configuration(const std::string& digest);

 private:
  base::Result<std::vector<std::string>> manifests(const std::string& digest);
  base::Result<std::optional<std::string>> read(const std::string& digest);
  base::Status add(const std::string& manifest, std::vector<Variables>& images);

  std::filesystem::path folder_;
  size_t left_;
};

}  // namespace hook::lifecycle::start
