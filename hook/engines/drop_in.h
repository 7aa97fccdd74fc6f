// SPDX-License-Identifier: Apache-2.0
// Engines with drop-in directories: a file owned by the product alone, see containers.conf(5) and
// crio.conf.d(5).
#pragma once

#include "hook/engines/runtime_entry.h"

namespace hook::engines {

// Returns /etc/containers/containers.conf.d/ipu-container-toolkit.conf, with which podman reads the
// runtime's errors as JSON, like runc's, also if it is given the runtime by its path.
[[nodiscard]] std::string podman_drop_in(const RuntimeEntry& entry);
// Returns /etc/crio/crio.conf.d/99-ipu-container-toolkit.conf. It has no allowed_annotations: CRI-O
// passes all annotations on except unlisted ones of its own, and does not start if others are
// listed.
[[nodiscard]] std::string crio_drop_in(const RuntimeEntry& entry);

// Returns whether any version of the product wrote TEXT as a drop-in.
[[nodiscard]] bool is_drop_in(std::string_view text);

// Return the entry of the runtime NAME in a drop-in, or kInvalid if TEXT is not TOML. FILE is for
// errors.
base::Result<Registered> find_podman_runtime(const FileText& text, const std::string& name,
                                             const std::string& file);
base::Result<Registered> find_crio_runtime(const FileText& text, const std::string& name,
                                           const std::string& file);

}  // namespace hook::engines
