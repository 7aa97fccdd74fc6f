// SPDX-License-Identifier: Apache-2.0
// The names of the partitions that this product makes: KIND-HOST-NUMBER, such as
// "c-1f2e3d4c-0123456789ab", which are 23 of the 36 characters that Graphcore's tools can have. A
// controller has no other place that could say whose a partition is. Each name is random and given
// once, so whatever has the name at a controller is what its maker asked for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vipu {

enum class MadeFor : char {
  kLease = 'c',        // one container
  kWarm = 'w',         // a container that has not come yet
  kReservation = 'r',  // whoever reserved it
  kClaim = 'k',        // what a scheduler claimed
  kSession = 's',      // a session of several containers
  kFleetWarm = 'f',    // a container that has not come yet, of any host of a fleet
};

struct MadeName {
  MadeFor what = MadeFor::kLease;
  // The 8 hexadecimal digits of the host that made it; of kFleetWarm: the first 8 of the fleet's
  // id, whose store says whose it is. Empty: a name of a release before 0.1, which does not say it.
  std::string host = {};
  std::string number = {};  // 12 hexadecimal digits

  bool operator==(const MadeName&) const = default;
};

inline constexpr size_t kHostDigits = 8;
inline constexpr size_t kNumberDigits = 12;

// Returns the parts of NAME; absent if it is not such a name. Names without a host are of the kinds
// c, w and r only.
[[nodiscard]] std::optional<MadeName> parse_made_name(std::string_view name);
[[nodiscard]] std::string to_string(const MadeName& name);

// Returns whether TEXT can be the HOST of a name.
[[nodiscard]] bool is_host(std::string_view text);
// Returns whether NAME is given once in the world: it names its host.
[[nodiscard]] bool is_unique_name(std::string_view name);
// Returns whether HOST made NAME, for itself.
[[nodiscard]] bool is_of_host(std::string_view name, std::string_view host);
// Returns whether NAME is that of a partition that hosts of a fleet keep warm for each other.
[[nodiscard]] bool is_of_fleet(std::string_view name);

}  // namespace vipu
