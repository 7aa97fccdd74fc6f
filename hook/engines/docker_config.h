// SPDX-License-Identifier: Apache-2.0
// dockerd's daemon.json: "runtimes", "default-runtime" and "hosts", see dockerd(8).
#pragma once

#include <vector>

#include "hook/engines/runtime_entry.h"

namespace hook::engines {

// Returns TEXT with ENTRY; all other bytes stay. Without make_default the default runtime stays.
// FILE is for errors. Returns kInvalid if TEXT is not a JSON object, and kExists if NAME is another
// program.
base::Result<FileText> add_docker_runtime(const FileText& text, const RuntimeEntry& entry,
                                          const std::string& file);

// Returns TEXT without the runtime NAME. If NAME is the default, BEFORE's default becomes the
// default again, unless dockerd would no longer know it. Objects that become empty are removed; an
// absent text stays absent. Returns kExists if NAME is not the product's program.
base::Result<FileText> remove_docker_runtime(const FileText& text, const FileText& before,
                                             const std::string& name, const std::string& file);

// Returns whether TEXT has a runtime, of any name, whose program is the product's.
[[nodiscard]] bool has_docker_runtime(const FileText& text);

base::Result<Registered> find_docker_runtime(const FileText& text, const std::string& name,
                                             const std::string& file);

// Returns the unix socket of a dockerd started with ARGS and TEXT as its file, USUAL if neither
// names a listener. Returns kUnavailable if dockerd listens only on others.
base::Result<std::string> docker_host(const std::vector<std::string>& args, const FileText& text,
                                      const std::string& usual, const std::string& file);

// Returns kInvalid if a key of ENTRY is also among dockerd's options ARGS: dockerd does not start
// with a key in both. WHO is the daemon, for errors.
base::Status check_docker_options(const std::vector<std::string>& args, const std::string& who,
                                  const RuntimeEntry& entry, const std::string& file);

}  // namespace hook::engines
