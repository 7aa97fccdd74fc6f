// SPDX-License-Identifier: Apache-2.0
// The registration of a low-level runtime with a container engine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::engines {

// The entry that an engine gets.
struct RuntimeEntry {
  std::string name;           // "ipu"
  std::string path;           // absolute
  bool make_default = false;  // for containers that name no runtime
  std::string monitor = {};   // conmon, for CRI-O; empty: CRI-O searches its PATH
};

// Returns kInvalid, with what is accepted, unless NAME is valid and no engine uses it itself.
base::Status check_runtime_name(const std::string& name);
// Returns kNotFound or kDenied unless PATH is a program that can be started.
base::Status check_runtime_program(const std::string& path);

// The text of a configuration file; unset if the file is absent.
using FileText = std::optional<std::string>;

// The entry found in an engine's file.
struct Registered {
  std::string path;         // the runtime of the entry; empty: no entry
  bool is_default = false;  // whether containers that name no runtime use it
};

}  // namespace hook::engines
