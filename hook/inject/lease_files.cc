// SPDX-License-Identifier: Apache-2.0
#include "hook/inject/lease_files.h"

#include "base/fs.h"
#include "base/text.h"

namespace hook {

using base::Result;
using base::Status;
using base::str;

std::string lease_dir(const std::string& run_dir, const std::string& lease_id) {
  return str(run_dir, "/leases/", lease_id);
}

Status write_lease_files(const std::string& run_dir, const std::string& lease_id,
                         const std::map<std::string, std::string>& files) {
  TRY(base::ensure_dir(run_dir, 0711));
  TRY(base::ensure_dir(str(run_dir, "/leases"), 0711));
  const std::string directory = lease_dir(run_dir, lease_id);
  TRY(base::ensure_dir(directory, 0711));
  for (const auto& [name, content] : files) {
    TRY(base::write_atomic(str(directory, "/", name), content, {0444, {}, {}}));
  }
  return {};
}

Result<base::Removed> remove_lease_files(const std::string& run_dir, const std::string& lease_id) {
  return base::remove_flat_dir(lease_dir(run_dir, lease_id));
}

}  // namespace hook
