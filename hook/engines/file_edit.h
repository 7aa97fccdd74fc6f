// SPDX-License-Identifier: Apache-2.0
// The change of one configuration file of an engine, and of the copy beside it.
#pragma once

#include <string>

#include "hook/engines/runtime_entry.h"

namespace hook::engines {

struct FileEdit {
  std::string path;
  FileText before;
  FileText after;               // absent: the file is to go
  FileText backup_before = {};  // of PATH.before-ipu
  FileText backup_after = {};
};

// An edit that changes nothing yet, of what stands in PATH and beside it. Its path is where links
// lead. As root links are only followed where root alone could have made them: kDenied.
base::Result<FileEdit> read_edit(const std::string& path);

// Makes the change: the file is there whole or as it was, with its owner and mode. What was there
// before a runtime was added is kept beside as PATH.before-ipu, and goes when the runtime is taken
// away; a drop-in is not kept. kBusy if the file was changed since the plan was made; kUnsupported
// if it is mounted by itself.
base::Status apply_edit(const FileEdit& edit);

}  // namespace hook::engines
