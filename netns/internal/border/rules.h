// SPDX-License-Identifier: Apache-2.0
// The rules of the border. Pure.
#pragma once

#include <cstdint>
#include <string>
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

// Returns a number that differs for RULES of one chain that differ in anything.
uint64_t fingerprint(const std::vector<const FrameRule*>& rules);

}  // namespace netns::border
