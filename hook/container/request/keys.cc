// SPDX-License-Identifier: Apache-2.0
#include "hook/container/request/keys.h"

#include <algorithm>

#include "base/spelling.h"
#include "base/text.h"

namespace hook::request {
namespace {

using base::str;

// The product's own annotations, from an earlier edit.
constexpr std::array<std::string_view, 2> kOwnAnnotations = {"graphcore.ai/ipu.lease",
                                                             "graphcore.ai/ipu.added"};

// Longer than any key without its prefix, and a slip of it.
constexpr size_t kLongest = 20;

bool is_variable(std::string_view name) {
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](const KeyName& key) { return key.variable == name; });
}

std::string_view name_in(std::string_view text) {
  return text.substr(0, text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                               "abcdefghijklmnopqrstuvwxyz0123456789_-"));
}

}  // namespace

bool is_own_annotation(std::string_view annotation) {
  return std::find(kOwnAnnotations.begin(), kOwnAnnotations.end(), annotation) !=
         kOwnAnnotations.end();
}

std::string_view meant_by(std::string_view name) {
  if (!name.starts_with(kVariablePrefix) || is_variable(name)) return "";
  const std::string_view rest = name.substr(kVariablePrefix.size());
  for (const KeyName& key : kKeys) {
    if (base::is_misspelled(rest, key.variable.substr(kVariablePrefix.size()))) return key.variable;
  }
  return "";
}

std::string advice_for(std::string_view annotation) {
  const std::string_view rest = annotation.substr(kAnnotationPrefix.size());
  for (const KeyName& key : kKeys) {
    if (base::is_misspelled(rest, key.annotation.substr(kAnnotationPrefix.size())))
      return str("did you mean ", key.annotation, "?");
  }
  return "see ipu-container-toolkit(7)";
}

std::string first_slip(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    if (!meant_by(name).empty()) return std::string(name);
  }
  return "";
}

bool mentions_variable(std::string_view text) {
  const std::string quoted = str('"', kVariablePrefix);
  size_t at = text.find(quoted);
  for (; at != std::string_view::npos; at = text.find(quoted, at + quoted.size())) {
    const std::string_view name =
        name_in(text.substr(at + 1, kVariablePrefix.size() + kLongest + 1));
    if (is_variable(name) || !meant_by(name).empty()) return true;
  }
  return false;
}

bool mentions_ipus(std::string_view config) {
  return config.find(str('"', kAnnotationPrefix)) != std::string_view::npos ||
         mentions_variable(config);
}

}  // namespace hook::request
