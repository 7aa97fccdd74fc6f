// SPDX-License-Identifier: Apache-2.0
// containerd's config.toml: a runtime handler of its CRI plugin. The entry stands in a block of its
// own between two comments, so that all other bytes stay and exactly it can be taken away again. A
// drop-in file would not do: before containerd 2.1 the table of a plugin in one replaces all others
// of that plugin (containerd issue 5837).
#pragma once

#include "hook/engines/runtime_entry.h"

namespace hook::engines {

// TEXT with a handler for ENTRY, which gets the pod annotations of the product; with systemd
// cgroups if the handler "runc" has them. kInvalid if it is no TOML, of version 1, or cannot be
// added to; kExists if the handler is another program there; kUnsupported with make_default.
base::Result<FileText> add_containerd_runtime(const FileText& text, const RuntimeEntry& entry,
                                              const std::string& file);

// TEXT without the block, if that is of NAME. kExists if the handler stands outside of it: somebody
// else's.
base::Result<FileText> remove_containerd_runtime(const FileText& text, const std::string& name,
                                                 const std::string& file);

base::Result<Registered> find_containerd_runtime(const FileText& text, const std::string& name,
                                                 const std::string& file);

// What stands in a FILE that was not there, beside the block.
[[nodiscard]] std::string new_containerd_file(const std::string& file);

// The name by which disabled_plugins turns the CRI plugin off, and with it all handlers.
base::Result<std::optional<std::string>> find_disabled_cri(const FileText& text,
                                                           const std::string& file);

}  // namespace hook::engines
