// SPDX-License-Identifier: Apache-2.0
// The rules of the border. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netns/address.h"
#include "netns/internal/border/frame_rule.h"
#include "netns/types.h"

namespace netns::border {

// A parent that the host has.
struct Parent {
  uint32_t index;  // of the interface
  std::string name;
  MacAddress mac;
  Others others;
};

// The base chains of a parent: what leaves, and what arrives.
std::string egress_chain(const Parent& parent);
std::string ingress_chain(const Parent& parent);
// The chains that rules jump to. A chain comes after those that it jumps to.
std::vector<std::string> shared_chains();

std::vector<FrameRule> rules_of(const std::vector<Parent>& parents);

// How many frames a rule has seen since it was made.
struct Counted {
  std::string chain;
  std::string comment;  // a long one may be cut
  uint64_t frames = 0;
};

// Returns the comment of the rule of CHAIN that drops and whose comment begins with COMMENT; absent
// if no rule of any parents is so.
std::optional<std::string> find_drop(std::string_view chain, std::string_view comment);

// Returns a number that differs for rules that differ in anything, or for other sets.
uint64_t fingerprint(const std::vector<FrameRule>& rules);
// Stands for what rules_of() makes of any parents. A unit test says what it must be.
inline constexpr uint64_t kRulesFingerprint = 9716785586836551776ULL;

}  // namespace netns::border
