// SPDX-License-Identifier: Apache-2.0
// dockerd's daemon.json: "runtimes" and "default-runtime", see dockerd(8).
#pragma once

#include "hook/engines/runtime_entry.h"

namespace hook {

// TEXT with ENTRY; all other bytes stay. Without make_default the default runtime is left as it is.
// FILE is for errors. kInvalid if TEXT is no JSON object; kExists if NAME is another program there.
base::Result<FileText> add_docker_runtime(const FileText& text, const RuntimeEntry& entry,
                                          const std::string& file);

// TEXT without the runtime NAME, which is not the default any more. Objects that it leaves empty go
// too; an absent text stays absent. kExists if NAME is a program that is not ours.
base::Result<FileText> remove_docker_runtime(const FileText& text, const std::string& name,
                                             const std::string& file);

base::Result<Registered> find_docker_runtime(const FileText& text, const std::string& name,
                                             const std::string& file);

}  // namespace hook
