// SPDX-License-Identifier: Apache-2.0
// The programs of the border by tc, as far as no kernel is needed. That they do what the rules say
// is shown with frames (tests/kernel/netns/border_test.cc).
#include "netns/internal/border/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/pkt_cls.h>

#include <array>
#include <cstring>
#include <numeric>

#include "netns/internal/border/rules.h"

namespace netns::border {
namespace {

constexpr size_t kMostInstructions = 4096;  // of a program, before Linux 5.2

std::vector<Parent> parents(Others others = Others::kPass) {
  return {{3, "rnic0", {{2, 0, 0, 0, 0, 1}}, others}, {4, "rnic1", {{2, 0, 0, 0, 0, 2}}, others}};
}
Instructions egress(const std::vector<Parent>& of) {
  return compile(rules_of(of), egress_chain(of[0]));
}
std::vector<int> helpers_of(const Instructions& program) {
  std::vector<int> helpers;
  for (const bpf_insn& each : program) {
    if (each.code == (BPF_JMP | BPF_CALL)) helpers.push_back(each.imm);
  }
  return helpers;
}
const bpf_insn& verdict_of(const Instructions& program) { return program[program.size() - 2]; }

TEST(BorderProgram, ACountTellsItsRuleAlsoIfItIsCut) {
  const std::vector<Parent> longest{{3, "fifteen-letters", {}, Others::kDrop}};
  for (const FrameRule& rule : rules_of(longest)) {
    Count count = count_of(rule);
    count.frames = 7;
    std::array<uint8_t, sizeof(Count)> value{};
    std::memcpy(value.data(), &count, sizeof count);
    const Counted read = read_count(value);
    EXPECT_EQ(read.chain, rule.chain);
    EXPECT_EQ(read.frames, 7U);
    if (rule.verdict != Verdict::kDrop) continue;
    EXPECT_EQ(find_drop(read.chain, read.comment), rule.comment);
  }
  const std::array<uint8_t, sizeof(Count)> unnamed{};
  EXPECT_EQ(read_count(unnamed).chain, "");
}

TEST(BorderProgram, FitsIntoOldKernels) {
  const std::vector<FrameRule> rules = rules_of(parents());
  for (const std::string& chain : {egress_chain(parents()[0]), ingress_chain(parents()[0])}) {
    const Instructions program = compile(rules, chain);
    EXPECT_LT(program.size(), kMostInstructions) << chain;
    EXPECT_THAT(helpers_of(program),
                testing::Each(testing::AnyOf(BPF_FUNC_map_lookup_elem, BPF_FUNC_map_update_elem,
                                             BPF_FUNC_skb_load_bytes)));
  }
}

TEST(BorderProgram, NeverJumpsBack) {
  for (const bpf_insn& each : egress(parents())) {
    if ((each.code & 7) == BPF_JMP) {
      EXPECT_GE(each.off, 0);
    }
  }
}

TEST(BorderProgram, EndsWithTheVerdictOfItsLastRule) {
  EXPECT_EQ(verdict_of(egress(parents())).imm, TC_ACT_SHOT) << "others are dropped";
  const Instructions arriving = compile(rules_of(parents()), ingress_chain(parents()[0]));
  EXPECT_EQ(verdict_of(arriving).imm, TC_ACT_UNSPEC) << "what is for no container passes";
}

TEST(BorderProgram, RemembersOthersOnlyWhereTheyPass) {
  EXPECT_THAT(helpers_of(egress(parents(Others::kPass))),
              testing::Contains(BPF_FUNC_map_update_elem));
  EXPECT_THAT(helpers_of(egress(parents(Others::kDrop))),
              testing::Not(testing::Contains(BPF_FUNC_map_update_elem)));
}

TEST(BorderProgram, LeavesOutARuleThatCannotHold) {
  FrameRule own{"chain", "own"};
  own.is_of_own_socket();
  own.verdict = Verdict::kDrop;
  FrameRule rest{"chain", "rest"};
  rest.verdict = Verdict::kAccept;
  const Instructions program = compile({own, rest}, "chain");
  EXPECT_EQ(program.size(), compile({rest}, "chain").size());
  EXPECT_EQ(verdict_of(program).imm, TC_ACT_UNSPEC);
}

// Each program has the same number wherever its maps are, and another one for other rules.
TEST(BorderProgram, HasAFingerprint) {
  EXPECT_EQ(fingerprint(egress(parents())), fingerprint(egress(parents())));
  EXPECT_NE(fingerprint(egress(parents())), fingerprint(egress(parents(Others::kDrop))));
  std::vector<Parent> other_mac = parents();
  other_mac[0].mac.bytes[5] = 9;
  EXPECT_NE(fingerprint(egress(parents())), fingerprint(egress(other_mac)));
}

TEST(BorderProgram, LoadsTheMapsThatItIsGiven) {
  Instructions program = egress(parents());
  std::vector<int> maps(kMaps);
  std::iota(maps.begin(), maps.end(), 100);
  set_maps(program, maps);
  size_t loaded = 0;
  for (const bpf_insn& each : program) {
    if (each.code != (BPF_LD | BPF_IMM | BPF_DW)) continue;
    EXPECT_GE(each.imm, 100);
    ++loaded;
  }
  EXPECT_GT(loaded, 0U);
}

}  // namespace
}  // namespace netns::border
