// SPDX-License-Identifier: Apache-2.0
// The config.toml files that k3s, RKE2 and MicroK8s write for their containerd at each start, and
// their templates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::engines {

// Returns whether FILE is a template of k3s or RKE2: "config.toml.tmpl", TOML mixed with actions of
// Go's text/template.
[[nodiscard]] bool is_template(const std::string& file);

// Returns the version of the file that the template makes, from its name: its base has the number.
[[nodiscard]] int64_t template_version(const std::string& file);

// Returns TEXT with an empty line for each line that holds an action.
[[nodiscard]] std::string without_actions(std::string_view text);

// Returns kUnsupported, with the template to use, if FILE is rewritten at each start. TEXT is its
// content.
base::Status check_not_generated(const std::string& file, const std::optional<std::string>& text);

// Returns the command that applies the template FILE; empty if FILE is not a template.
[[nodiscard]] std::string restart_of_template(const std::string& file);

}  // namespace hook::engines
