// SPDX-License-Identifier: Apache-2.0
// A container's request, from its environment and its annotations.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/config/config.h"

namespace hook::request {

// The IPUs that a container asks for: exactly one of a new partition of this many IPUs, one or all
// GCDs of a partition made in advance, or cards by number.
struct Request {
  uint32_t ipus = 0;  // a power of two; 0: not a new partition by size
  bool reconfigurable = false;
  std::chrono::milliseconds wait{0};  // for capacity; 0: fails at once
  std::string tenant = {};
  std::string pool = {};             // empty: the first pool
  std::string partition = {};        // made in advance; empty: none
  bool is_reservation = false;       // PARTITION is, at first, the name of a reservation
  std::optional<uint32_t> gcd = {};  // of that partition
  bool all_gcds = false;             // of the partition
  std::vector<uint32_t> cards = {};  // the N of /dev/ipuN, ascending; empty: none by number
  bool all_cards = false;
  bool vipu_endpoint = false;  // a V-IPU controller that answers for the partition alone
  bool network = true;         // false: no network is requested
  // One line for each variable that was not honoured, because the image sets it.
  std::vector<std::string> ignored = {};
  bool operator==(const Request&) const = default;
};

// The variables of a container that come from its image, as far as that is known.
struct FromImage {
  std::set<std::string> names = {};
  // Whether only the image sets them. If not, the user may have given the same values.
  bool certain = true;
};

// Returns the annotation with the meaning of the product's VARIABLE; empty if there is none.
[[nodiscard]] std::string_view annotation_of(std::string_view variable);

// Returns whether any of the product's keys asks for IPUs, well-formed or not, or seems to be meant
// to (keys.h). Needs no policy.
[[nodiscard]] bool asks_for_ipus(const std::vector<std::string>& environment,
                                 const std::map<std::string, std::string>& annotations);

// Returns whether ENVIRONMENT has a variable that is not honoured if the image sets it:
// IPU_WAIT, by which an image could queue for whoever starts it, IPU_PARTITION and
// IPU_RESERVATION, by which it could get at what another made, IPU_TENANT and SLURM_JOB_ACCOUNT,
// and slips of names.
[[nodiscard]] bool may_ignore(const std::vector<std::string>& environment);

// Returns the request, or nothing if nothing asks for IPUs. An annotation overrides a variable.
// The variables of may_ignore() are not honoured if they are of the IMAGE.
// kInvalid names the key, its value, and what is accepted, or the name that a slip may mean.
// kDenied names what the policy forbids, or what only the image asks for, and kUnsupported a key
// that this version cannot serve.
base::Result<std::optional<Request>> parse_request(
    const std::vector<std::string>& environment,
    const std::map<std::string, std::string>& annotations, const config::PolicyConfig& policy,
    const FromImage& image = {});

// Completes the tenant of REQUEST, by config::choose_tenant() for USER, the uid of who starts the
// container (-1: unknown), and checks that its tenant allows its wait. Fails with kDenied.
base::Status settle_tenant(Request& request, const config::PolicyConfig& policy, int64_t user);

}  // namespace hook::request
