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
    for (std::filesystem::directory_iterator at(folder, err), end; !err && at != end;
         at.increment(err)) {
      const std::filesystem::path& path = at->path();
      if (path.extension() != ".json") continue;  // engines read no others
      const base::Result<std::string> text = base::read_plain_file(path, kMaxBytes);
      if (text.ok() && text.value().find(hook::config::hook_program()) != std::string::npos)
        files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace ipuctl
