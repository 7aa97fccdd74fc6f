// SPDX-License-Identifier: Apache-2.0
// The configuration of container engines: how each is told about a low-level runtime.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::engines {

// What an engine is told.
struct RuntimeEntry {
  std::string name;           // "ipu"
  std::string path;           // absolute
  bool make_default = false;  // for containers that name no runtime
  std::string monitor = {};   // conmon, for CRI-O; empty: CRI-O looks for it in its PATH
};

// A name that no engine has itself: kInvalid, with what is accepted, for another.
base::Status check_runtime_name(const std::string& name);
// A program that can be started: kNotFound or kDenied if PATH is none.
base::Status check_runtime_program(const std::string& path);

// A configuration file's text; absent: there is no such file.
using FileText = std::optional<std::string>;

// What stands in the file of an engine.
struct Registered {
  std::string path;         // of the entry's runtime; empty: there is no entry
  bool is_default = false;  // whether containers that name no runtime get it
};

}  // namespace hook::engines
