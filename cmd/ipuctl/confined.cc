// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/confined.h"

#include <algorithm>
#include <iterator>

#include "base/names.h"
#include "hook/config/paths.h"

namespace ipuctl {

using namespace base::names;
using hook::confinement::Phase;

namespace {

struct Confined {
  std::string_view command;
  Phase phase;
};

constexpr Confined kConfined[] = {
    // They print what the ledger says.
    {"ipuctl ps", Phase::kLook},
    {"ipuctl lease show", Phase::kLook},
    {"ipuctl queue", Phase::kLook},
    {"ipuctl reservation list", Phase::kLook},
    {"ipuctl events", Phase::kLook},
    {"ipuctl audit verify", Phase::kLook},
    {"ipuctl ledger dump", Phase::kLook},
    // They read what engines, containers or controllers wrote, or change the ledger.
    {"ipuctl gc", Phase::kLease},
    {"ipuctl explain", Phase::kLease},
    {"ipuctl lease refresh", Phase::kLease},
    {"ipuctl ledger check", Phase::kLease},
    {"ipuctl ledger rebuild", Phase::kLease},
    {"ipuctl drain", Phase::kLease},
    {"ipuctl queue cancel", Phase::kLease},
    {"ipuctl partition create", Phase::kLease},
    {"ipuctl partition list", Phase::kLease},
    {"ipuctl partition show", Phase::kLease},
    {"ipuctl partition config", Phase::kLease},
    {"ipuctl partition wait", Phase::kLease},
    {"ipuctl partition ipu-attrs", Phase::kLease},
    {"ipuctl partition adopt", Phase::kLease},
    {"ipuctl partition reset", Phase::kLease},
    {"ipuctl partition remove", Phase::kLease},
    {"ipuctl pool list", Phase::kLease},
    {"ipuctl pool refill", Phase::kLease},
    {"ipuctl reservation extend", Phase::kLease},
    {"ipuctl reservation end", Phase::kLease},
    {"ipuctl health list", Phase::kLease},
    {"ipuctl health taint", Phase::kLease},
    {"ipuctl health clear", Phase::kLease},
    // It starts `ipuctl pool refill`.
    {"ipuctl reserve", Phase::kAgent},
    // They change the packet filter of the host.
    {"ipuctl border mend", Phase::kWatch},
    {"ipuctl border watch", Phase::kWatch},
    {"ipuctl border remove", Phase::kWatch},
};

}  // namespace

std::optional<Phase> phase_of(std::string_view command) {
  const auto* const found =
      std::find_if(std::begin(kConfined), std::end(kConfined),
                   [&](const Confined& each) { return each.command == command; });
  if (found == std::end(kConfined)) return std::nullopt;
  return found->phase;
}

Status confine(const std::string& command) {
  const std::optional<Phase> phase = phase_of(command);
  if (!phase) return {};
  return hook::confinement::enter(*phase, command.c_str(), hook::config::forbidden_calls_file());
}

}  // namespace ipuctl
