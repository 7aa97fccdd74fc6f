// SPDX-License-Identifier: Apache-2.0
// dockerd's daemon.json: "runtimes", "default-runtime" and "hosts", see dockerd(8).
#pragma once

#include <vector>

#include "hook/engines/runtime_entry.h"

namespace hook::engines {

// TEXT with ENTRY; all other bytes stay. Without make_default the default runtime is left as it is.
// FILE is for errors. kInvalid if TEXT is no JSON object; kExists if NAME is another program there.
base::Result<FileText> add_docker_runtime(const FileText& text, const RuntimeEntry& entry,
                                          const std::string& file);

// TEXT without the runtime NAME. If that is the default, what BEFORE has as such is the default
// again, unless dockerd would not know it any more. Objects that it leaves empty go too; an absent
// text stays absent. kExists if NAME is a program that is not ours.
base::Result<FileText> remove_docker_runtime(const FileText& text, const FileText& before,
                                             const std::string& name, const std::string& file);

// Whether TEXT has a runtime whose program is ours, by whatever name.
[[nodiscard]] bool has_docker_runtime(const FileText& text);

base::Result<Registered> find_docker_runtime(const FileText& text, const std::string& name,
                                             const std::string& file);

// Where dockerd, started with ARGS and TEXT as its file, can be asked by this host: the unix socket
// that it listens on; USUAL where it is told nothing. kUnavailable if it listens on others only.
base::Result<std::string> docker_host(const std::vector<std::string>& args, const FileText& text,
                                      const std::string& usual, const std::string& file);

// dockerd does not start where a key stands in its file and among its options ARGS: kInvalid if a
// key of ENTRY would. WHO is the daemon, for errors.
base::Status check_docker_options(const std::vector<std::string>& args, const std::string& who,
                                  const RuntimeEntry& entry, const std::string& file);

}  // namespace hook::engines
