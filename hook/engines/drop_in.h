// SPDX-License-Identifier: Apache-2.0
// Engines with drop-in directories: a file that is ours alone, see containers.conf(5) and
// crio.conf.d(5).
#pragma once

#include "hook/engines/runtime_entry.h"

namespace hook::engines {

// /etc/containers/containers.conf.d/ipu-container-toolkit.conf: podman takes the errors of the
// runtime as JSON, as those of runc.
[[nodiscard]] std::string podman_drop_in(const RuntimeEntry& entry);
// /etc/crio/crio.conf.d/99-ipu-container-toolkit.conf. No allowed_annotations: CRI-O hands all
// annotations on but those of its own that are listed there, and does not start with others in it.
[[nodiscard]] std::string crio_drop_in(const RuntimeEntry& entry);

// Whether TEXT was written by one of these, by whatever version.
[[nodiscard]] bool is_drop_in(std::string_view text);

// What one of these says of the runtime NAME. FILE is for errors; kInvalid if it is no TOML.
base::Result<Registered> find_podman_runtime(const FileText& text, const std::string& name,
                                             const std::string& file);
base::Result<Registered> find_crio_runtime(const FileText& text, const std::string& name,
                                           const std::string& file);

}  // namespace hook::engines
