// SPDX-License-Identifier: Apache-2.0
// Which commands of an OCI runtime are none of our business, as quickly as that can be told.
#pragma once

#include <string>
#include <string_view>

#include "hook/container/oci/command_line.h"

namespace hook::plain {

struct Paths {
  std::string run_dir;
  std::string config_file;
};

// Returns the low-level runtime to which the command LINE goes as it is. Returns an empty text in
// every doubt: ipu-container-start decides then. A container passes by if its config.json has no
// name of ours, and if it joins no network namespace while any has a mark.
[[nodiscard]] std::string passes_to(const oci::CommandLine& line, const Paths& paths);

// Returns the directory of the marks of network namespaces (lifecycle/network/marks.h).
[[nodiscard]] std::string marks_dir(const std::string& run_dir);
// Returns whether any namespace has a mark. Costs one system call.
[[nodiscard]] bool has_marks(const std::string& run_dir);

// Returns whether SPEC, a config.json, may name a namespace to join, by its text alone. Low-level
// runtimes read keys in any case, and crun reads comments. What only a parser could tell, such as
// an escaped letter, counts as yes.
[[nodiscard]] bool may_join(std::string_view spec);

}  // namespace hook::plain
