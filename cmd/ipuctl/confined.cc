// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/confined.h"

#include <algorithm>
#include <iterator>

#include "base/names.h"
#include "cmd/ipuctl/fleet.h"
#include "hook/config/paths.h"

namespace ipuctl {

using namespace base::names;
using hook::confinement::Phase;

namespace {

// They run programs that are not ours and would inherit the filter, or do nothing; `top` confines
// the process that looks.
constexpr std::string_view kUnconfined[] = {"ipuctl doctor",       "ipuctl runtime",
                                            "ipuctl version",      "ipuctl support-bundle",
                                            "ipuctl health check", "ipuctl fleet fence-due",
                                            "ipuctl completion",   "ipuctl monitor",
                                            "ipuctl info",         "ipuctl top"};

struct Confined {
  std::string_view command;
  Phase phase;
};

// All others may ask controllers, and read what engines and containers wrote: phase lease.
constexpr Confined kConfined[] = {
    // They print what the ledger says.
    {"ipuctl ps", Phase::kLook},
    {"ipuctl lease show", Phase::kLook},
    {"ipuctl queue", Phase::kLook},
    {"ipuctl reservation list", Phase::kLook},
    {"ipuctl tenant list", Phase::kLook},
    {"ipuctl tenant show", Phase::kLook},
    {"ipuctl trace", Phase::kLook},
    {"ipuctl events", Phase::kLook},
    {"ipuctl audit verify", Phase::kLook},
    {"ipuctl ledger dump", Phase::kLook},
    // It starts `ipuctl pool refill`.
    {"ipuctl reserve", Phase::kAgent},
    // They change the packet filter of the host.
    {"ipuctl border mend", Phase::kWatch},
    {"ipuctl border watch", Phase::kWatch},
    {"ipuctl border remove", Phase::kWatch},
};

// Of these, the ones that also ask a fleet, if this host is in one.
constexpr std::string_view kOfFleet[] = {"ipuctl queue", "ipuctl tenant list",
                                         "ipuctl tenant show"};

// Returns whether COMMAND is WORDS, or one of its subcommands.
bool is_of(std::string_view command, std::string_view words) {
  return command.starts_with(words) &&
         (command.size() == words.size() || command[words.size()] == ' ');
}

}  // namespace

std::optional<Phase> phase_of(std::string_view command) {
  const bool is_free = std::any_of(std::begin(kUnconfined), std::end(kUnconfined),
                                   [&](std::string_view words) { return is_of(command, words); });
  if (is_free) return std::nullopt;
  const auto* const found =
      std::find_if(std::begin(kConfined), std::end(kConfined),
                   [&](const Confined& each) { return each.command == command; });
  const bool is_of_fleet =
      std::find(std::begin(kOfFleet), std::end(kOfFleet), command) != std::end(kOfFleet);
  if (is_of_fleet && may_be_in_fleet()) return Phase::kLease;
  return found == std::end(kConfined) ? Phase::kLease : found->phase;
}

Status confine(const std::string& command) {
  const std::optional<Phase> phase = phase_of(command);
  if (!phase) return {};
  return hook::confinement::enter(*phase, command.c_str(), hook::config::forbidden_calls_file());
}

}  // namespace ipuctl
