// SPDX-License-Identifier: Apache-2.0
// The rules of one base chain as a program for the kernel's eBPF. Pure.
//
// The program has no loops and needs no more than Linux 4.18 has: fewer than 4096 instructions, the
// jumps of Linux 4.14, and the helpers map_lookup_elem, map_update_elem and skb_load_bytes.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "netns/internal/border/frame_rule.h"
#include "netns/internal/border/rules.h"

namespace netns::border {

// The map that counts: the number of a rule in the list of all rules, and then its Count. It comes
// after the maps of the sets, which have the numbers of their SetId.
inline constexpr size_t kCountMap = kSets.size();
inline constexpr size_t kMaps = kSets.size() + 1;

// The value of a counted rule.
struct Count {
  uint64_t frames;
  char rule[56];  // chain and comment
};
[[nodiscard]] Count count_of(const FrameRule& rule);
// Reads the value again.
[[nodiscard]] Counted read_count(std::span<const uint8_t, sizeof(Count)> value);

// The value of a key: the comment of its element; eight zeros in kOthers.
inline constexpr uint32_t kCommentBytes = 64;
inline constexpr uint32_t kOthersValueBytes = 8;

using Instructions = std::vector<bpf_insn>;

// Returns the program for the base chain CHAIN of RULES. It returns TC_ACT_SHOT for a frame that is
// dropped, and TC_ACT_UNSPEC, which lets other filters decide, for one that passes. Instructions
// that load a map have its number instead of its descriptor. Condition::Kind::kOwnSocket is never
// true. CHAIN does not jump in a circle.
Instructions compile(const std::vector<FrameRule>& rules, const std::string& chain);

// Replaces the number of each map by its descriptor. MAPS has kMaps descriptors.
void set_maps(Instructions& program, std::span<const int> maps);

// Returns a number that differs for programs that differ.
uint64_t fingerprint(const Instructions& program);

}  // namespace netns::border
