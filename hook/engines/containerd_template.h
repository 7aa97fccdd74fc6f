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

// Returns whether FILE is a template of k3s or RKE2 by its name, "config.toml.tmpl" or
// "config-v3.toml.tmpl". A template is TOML mixed with actions of Go's text/template. A
// template of MicroK8s does not count.
[[nodiscard]] bool is_template(const std::string& file);

// Returns the version of the file that the template FILE makes. It is known from the name: the
// number itself is in the base template, which FILE only includes.
[[nodiscard]] int64_t template_version(const std::string& file);

// Returns TEXT with an empty line in place of each line that holds an action.
[[nodiscard]] std::string without_actions(std::string_view text);

// Returns kUnsupported, with the template to use, if FILE is rewritten at each start. TEXT is its
// content.
base::Status check_not_generated(const std::string& file, const std::optional<std::string>& text);

// Returns the command that applies the template FILE, also one of MicroK8s; empty if FILE is not a
// template. For use in single quotes: a choice of two commands has "' or '" between them.
[[nodiscard]] std::string restart_of_template(const std::string& file);

}  // namespace hook::engines
