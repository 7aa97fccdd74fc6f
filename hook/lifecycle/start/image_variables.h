// SPDX-License-Identifier: Apache-2.0
// Which variables of a container only its image sets, from the two lists of variables. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hook::lifecycle::start {

// Returns the names of the variables that only the image sets. CONTAINER is the environment that
// docker keeps for a container, IMAGE that of its image. Docker writes what the user gave, then
// what the image has and the user did not give, in the image's order (moby, daemon/commit.go,
// merge()). Where a user gave the image's first variables with the image's values, these count as
// the image's. Returns nothing if CONTAINER was not made from IMAGE in this way.
[[nodiscard]] std::optional<std::set<std::string>> set_by_image(
    const std::vector<std::string>& container, const std::vector<std::string>& image);

// Returns the names of the variables of ENVIRONMENT, a container's, that an image with the
// variables IMAGE may have set: those with a value of the image, which do not occur more often than
// in the image. What engines other than docker write of both does not tell more: a user may have
// given the image's value.
[[nodiscard]] std::set<std::string> maybe_set_by_image(const std::vector<std::string>& environment,
                                                       const std::vector<std::string>& image);

// Returns the names of all VARIABLES.
[[nodiscard]] std::set<std::string> names_of(const std::vector<std::string>& variables);

// Returns VARIABLES with only the last of those with the same name. This is the one that counts for
// runc and crun.
[[nodiscard]] std::vector<std::string> last_of_each(const std::vector<std::string>& variables);

}  // namespace hook::lifecycle::start
