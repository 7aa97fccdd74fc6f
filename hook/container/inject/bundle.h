// SPDX-License-Identifier: Apache-2.0
// A bundle on disk: its config.json, held by the directory of that file, so that no path is
// resolved twice.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/fs.h"
#include "base/result.h"

namespace hook::inject {

// The size limit of a configuration: many times what an engine writes.
inline constexpr size_t kMaxBundleConfig = 64 << 20;

class Bundle {
 public:
  // Opens the bundle in DIRECTORY (empty: the working directory) and reads its configuration:
  // "config.json", or another path, which is from the working directory, as crun's --config is.
  // Returns kNotFound if that is absent or not a file, and kInvalid if it is longer than
  // kMaxBundleConfig.
  static base::Result<Bundle> open(const std::string& directory, const std::string& config_name);

  [[nodiscard]] const std::string& config() const { return config_; }
  [[nodiscard]] const std::string& path() const { return path_; }  // absolute, for people

  // Replaces the configuration by TEXT; owner, mode and SELinux label stay. Atomic: see
  // base::write_atomic.
  base::Status replace_config(const std::string& text);

 private:
  Bundle() = default;
  base::Fd directory_;  // of the configuration
  std::string path_;
  std::string config_name_;
  std::string config_;
  base::FileAttributes attributes_;
};

}  // namespace hook::inject
