// SPDX-License-Identifier: Apache-2.0
// The change of an engine's configuration file and of its backup.
#pragma once

#include <string>

#include "hook/engines/runtime_entry.h"

namespace hook::engines {

struct FileEdit {
  std::string path;
  FileText before;
  FileText after;               // absent: the file is removed
  FileText backup_before = {};  // content of PATH.before-ipu
  FileText backup_after = {};
};

// Returns an edit that changes nothing yet, of PATH and its backup. Its path is the target of
// links. As root, follows only links that root alone could have made, or returns kDenied.
base::Result<FileEdit> read_edit(const std::string& path);

// Applies the change atomically and keeps owner and mode. Adding a runtime saves the former content
// as PATH.before-ipu; removing the runtime removes that copy. A drop-in has no copy. Returns kBusy
// if the file has changed since the plan, and kUnsupported if the file is a mount point.
base::Status apply_edit(const FileEdit& edit);

}  // namespace hook::engines
