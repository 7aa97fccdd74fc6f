// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi/grammar.h"

#include <algorithm>

namespace hook::cdi {
namespace {

bool is_alphanumeric(char c) { return is_letter(c) || ('0' <= c && c <= '9'); }

bool has_only(std::string_view name, std::string_view others) {
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return is_alphanumeric(c) || others.find(c) != std::string_view::npos;
  });
}

}  // namespace

bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); }

bool is_vendor(std::string_view name) {
  return !name.empty() && is_letter(name.front()) && is_alphanumeric(name.back()) &&
         has_only(name, "_-.");
}

bool is_class(std::string_view name) { return is_vendor(name); }

bool is_device_name(std::string_view name) {
  return !name.empty() && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
         has_only(name, "_-.:");
}

}  // namespace hook::cdi
