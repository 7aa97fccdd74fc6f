// SPDX-License-Identifier: Apache-2.0
// What a container asks for, by its environment and its annotations.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/config/config.h"

namespace hook::request {

// What the IPUs of a container are: exactly one of a new partition of so many IPUs, a GCD of a
// partition that was made ahead, and cards by their numbers.
struct Request {
  uint32_t ipus = 0;  // a power of two; 0: not a new partition by size
  bool reconfigurable = false;
  std::chrono::milliseconds wait{0};  // for capacity, instead of failing at once
  std::string tenant = {};
  std::string pool = {};             // empty: the first one
  std::string partition = {};        // made ahead; empty: none
  std::optional<uint32_t> gcd = {};  // of that partition
  std::vector<uint32_t> cards = {};  // the N of /dev/ipuN, ascending; empty: none by number
  bool all_cards = false;
  bool network = true;  // false: it asked for none
  bool operator==(const Request&) const = default;
};

// The annotation that means the same as VARIABLE of the product; empty: there is none.
[[nodiscard]] std::string_view annotation_of(std::string_view variable);

// Whether the text of a config.json can hold a request at all: one of the product's keys stands in
// it. False means that the container is none of our business, whatever else the text is.
[[nodiscard]] bool mentions_ipus(std::string_view config);

// Whether any key of the product is there that asks for IPUs, well-formed or not. Needs no policy.
[[nodiscard]] bool asks_for_ipus(const std::vector<std::string>& environment,
                                 const std::map<std::string, std::string>& annotations);

// The request; absent if nothing asks for IPUs. An annotation wins over a variable. kInvalid names
// the key, its value, and what is accepted; kDenied what the policy does not allow; kUnsupported a
// key that this version does not know how to serve.
base::Result<std::optional<Request>> parse_request(
    const std::vector<std::string>& environment,
    const std::map<std::string, std::string>& annotations, const config::PolicyConfig& policy);

}  // namespace hook::request
