// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/hook_files.h"

#include <algorithm>
#include <filesystem>

#include "base/fs.h"
#include "hook/config/paths.h"

namespace ipuctl {

std::vector<std::string> hook_files() {
  constexpr size_t kMaxBytes = 64 << 10;
  std::vector<std::string> files;
  for (const char* folder : {"/etc/containers/oci/hooks.d", "/usr/share/containers/oci/hooks.d"}) {
    std::error_code err;
    for (const auto& entry : std::filesystem::directory_iterator(folder, err)) {
      const base::Result<std::string> text = base::read_plain_file(entry.path(), kMaxBytes);
      if (text.ok() && text.value().find(hook::config::hook_program()) != std::string::npos)
        files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace ipuctl
