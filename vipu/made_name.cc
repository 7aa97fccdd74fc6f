// SPDX-License-Identifier: Apache-2.0
#include "vipu/made_name.h"

#include "base/text.h"

namespace vipu {
namespace {

constexpr std::string_view kKinds = "cwrksf";
constexpr std::string_view kKindsWithoutHost = "cwr";

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::optional<MadeName> parse_made_name(std::string_view name) {
  constexpr size_t kShort = 2 + kNumberDigits;
  constexpr size_t kWhole = kShort + kHostDigits + 1;
  const bool is_whole = name.size() == kWhole;
  if ((!is_whole && name.size() != kShort) || name[1] != '-') return std::nullopt;
  const std::string_view kinds = is_whole ? kKinds : kKindsWithoutHost;
  if (kinds.find(name[0]) == std::string_view::npos) return std::nullopt;
  std::string_view rest = name.substr(2);
  MadeName made;
  made.what = static_cast<MadeFor>(name[0]);
  if (is_whole) {
    if (rest[kHostDigits] != '-') return std::nullopt;
    made.host = rest.substr(0, kHostDigits);
    rest.remove_prefix(kHostDigits + 1);
  }
  made.number = rest;
  if (!is_hex(made.host) || !is_hex(made.number)) return std::nullopt;
  return made;
}

std::string to_string(const MadeName& name) {
  const std::string host = name.host.empty() ? "" : base::str(name.host, '-');
  return base::str(static_cast<char>(name.what), '-', host, name.number);
}

bool is_host(std::string_view text) { return text.size() == kHostDigits && is_hex(text); }

bool is_unique_name(std::string_view name) {
  const std::optional<MadeName> made = parse_made_name(name);
  return made && !made->host.empty();
}

bool is_of_host(std::string_view name, std::string_view host) {
  const std::optional<MadeName> made = parse_made_name(name);
  return made && !host.empty() && made->host == host && made->what != MadeFor::kFleetWarm;
}

bool is_of_fleet(std::string_view name) {
  const std::optional<MadeName> made = parse_made_name(name);
  return made && made->what == MadeFor::kFleetWarm;
}

}  // namespace vipu
