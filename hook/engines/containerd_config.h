// SPDX-License-Identifier: Apache-2.0
// containerd's config.toml: a runtime handler of its CRI plugin. The entry is a separate block
// between two comments, so that all other bytes stay, and exactly the block can be removed. A
// drop-in file would not work: before containerd 2.1, a plugin's table in one replaces all others
// of that plugin (containerd issue 5837).
#pragma once

#include "hook/engines/runtime_entry.h"

namespace hook::engines {

// Returns TEXT with a handler for ENTRY, which gets the product's pod annotations, and systemd
// cgroups if the handler "runc" has them. Returns kInvalid if TEXT is not TOML, is of version 1, or
// cannot be extended, kExists if the handler is another program, and kUnsupported with
// make_default.
base::Result<FileText> add_containerd_runtime(const FileText& text, const RuntimeEntry& entry,
                                              const std::string& file);

// Returns TEXT without the block, if the block is NAME's. Returns kExists if the handler is outside
// the block, and so another party's.
base::Result<FileText> remove_containerd_runtime(const FileText& text, const std::string& name,
                                                 const std::string& file);

base::Result<Registered> find_containerd_runtime(const FileText& text, const std::string& name,
                                                 const std::string& file);

// A handler in what `containerd config dump` prints.
struct DumpedHandler {
  std::string path = {};  // its program; empty: there is no such handler
  int64_t version = 0;    // of the dump
  bool is_known_version = false;
};
// Looks for the handler NAME in the tables of both names of the CRI plugin. The dump of containerd
// 2.0 has version 3, and the tables of a file of version 2 as they are (containerd issue 11747).
base::Result<DumpedHandler> find_dumped_handler(std::string_view dump, const std::string& name);

// Returns the content of a new FILE, without the block.
[[nodiscard]] std::string new_containerd_file(const std::string& file);

// Returns the name in disabled_plugins that disables the CRI plugin, and with it all handlers.
base::Result<std::optional<std::string>> find_disabled_cri(const FileText& text,
                                                           const std::string& file);

}  // namespace hook::engines
