// SPDX-License-Identifier: Apache-2.0
// The config.toml that k3s, RKE2 and MicroK8s write for their containerd at each start, and the
// templates that they make it of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::engines {

// Whether FILE is a template of k3s or RKE2: "config.toml.tmpl", TOML with actions of Go's
// text/template between.
[[nodiscard]] bool is_template(const std::string& file);

// The version of the file that the template makes; by its name, as its base has the number.
[[nodiscard]] int64_t template_version(const std::string& file);

// TEXT without the lines that hold an action; as many lines as before.
[[nodiscard]] std::string without_actions(std::string_view text);

// kUnsupported, with the template to use, if FILE is one that is written anew at each start. TEXT
// is what stands in it.
base::Status check_not_generated(const std::string& file, const std::optional<std::string>& text);

// The command after which a template FILE counts; empty if it is none.
[[nodiscard]] std::string restart_of_template(const std::string& file);

}  // namespace hook::engines
