// SPDX-License-Identifier: Apache-2.0
// What nf_tables has: chains, rules and elements, with the comments that nft(8) displays.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/internal/nft.h"

namespace netns::nft {

struct FoundChain {
  std::string name;
  std::string device;  // that its base chain is on; empty: another chain
  std::string comment;
  uint32_t uses = 0;  // its rules, and the jumps to it
};

struct FoundRule {
  std::string chain;
  std::string comment;
  auto operator<=>(const FoundRule&) const = default;
};

// A rule that counts.
struct FoundCount {
  FoundRule rule;
  uint64_t packets = 0;  // since the rule was made
};

// Return what TABLE, or one of its sets, has; nothing if it is absent.
base::Result<std::vector<FoundChain>> find_chains(nl::Socket& socket, const Table& table);
base::Result<std::vector<FoundRule>> find_rules(nl::Socket& socket, const Table& table);
base::Result<std::vector<FoundCount>> find_counts(nl::Socket& socket, const Table& table);
base::Result<std::vector<Element>> find_elements(nl::Socket& socket, const Table& table,
                                                 const std::string& set);

}  // namespace netns::nft
