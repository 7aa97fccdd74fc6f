// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/border/program.h"

#include <linux/pkt_cls.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/bpf.h"
#include "base/text.h"

namespace netns::border {
namespace {

// The stack, from its top (bpf-helpers(7): 512 bytes). The frame starts at an address that is two
// more than a multiple of eight, so that IP addresses are at multiples of two or more.
constexpr int16_t kFrame = -98;
constexpr uint32_t kFrameBytes = 84;
constexpr uint32_t kVlanBytes = 4;
constexpr uint32_t kMostLoaded = 78;  // up to the last field, without a VLAN tag
constexpr uint32_t kMacs = 12;        // before the place of a VLAN tag
constexpr uint32_t kHeader = 14;      // of Ethernet
constexpr int16_t kKey = -152;
constexpr int16_t kValue = -144;  // of a MAC that is remembered

// The registers that helpers keep.
constexpr int kContext = BPF_REG_6;
constexpr int kLength = BPF_REG_7;  // of the frame, with its VLAN tag

// BPF_ATOMIC with BPF_ADD; BPF_XADD before Linux 5.12.
constexpr int kAtomic = 0xc0;

constexpr std::string_view kBetween = ": ";  // chain and comment

int size_code(uint32_t bytes) {
  switch (bytes) {
    case 1:
      return BPF_B;
    case 2:
      return BPF_H;
    case 4:
      return BPF_W;
    default:
      return BPF_DW;
  }
}

// Returns the most bytes, up to LIMIT, that one instruction may access at both offsets.
uint32_t chunk(int at, int other, uint32_t left, uint32_t limit) {
  uint32_t bytes = limit;
  while (bytes > left || at % static_cast<int>(bytes) != 0 || other % static_cast<int>(bytes) != 0)
    bytes /= 2;
  return bytes;
}

int place_of(const Field& field) { return kFrame + static_cast<int>(field.offset); }

class Compiler {
 public:
  explicit Compiler(const std::vector<FrameRule>& rules) : rules_(rules) {}

  Instructions compile(const std::string& chain) {
    load_frame();
    if (emit_chain(chain)) leave_with(TC_ACT_UNSPEC);
    return std::move(program_);
  }

 private:
  using Jumps = std::vector<size_t>;  // instructions whose target is not known yet

  void emit(int code, int to, int from, int offset, int32_t value) {
    program_.push_back(base::bpf::instruction(code, to, from, offset, value));
  }
  void move(int to, int from) { emit(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void set(int to, int32_t value) { emit(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  void point_to(int to, int place) {
    move(to, BPF_REG_10);
    emit(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, place);
  }
  void zero(int from, uint32_t bytes) {
    const int end = from + static_cast<int>(bytes);
    for (int at = from; at < end;) {
      const uint32_t size = chunk(at, 0, static_cast<uint32_t>(end - at), 8);
      emit(BPF_ST | BPF_MEM | size_code(size), BPF_REG_10, 0, at, 0);
      at += static_cast<int>(size);
    }
  }
  void load(int to, int place, uint32_t size) {
    emit(BPF_LDX | BPF_MEM | size_code(size), to, BPF_REG_10, place, 0);
  }
  void store(int place, int from, uint32_t size) {
    emit(BPF_STX | BPF_MEM | size_code(size), BPF_REG_10, from, place, 0);
  }
  void load_context(int to, size_t offset) {
    emit(BPF_LDX | BPF_MEM | BPF_W, to, kContext, static_cast<int>(offset), 0);
  }
  void load_map(size_t map) {  // takes two places
    emit(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, static_cast<int32_t>(map));
    emit(0, 0, 0, 0, 0);
  }
  void call(int helper) { emit(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
  void leave_with(int verdict) {
    set(BPF_REG_0, verdict);
    emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  }
  // Jumps if REGISTER compares so with VALUE.
  void jump_if(int comparison, int reg, int32_t value, Jumps& jumps) {
    jumps.push_back(program_.size());
    emit(BPF_JMP | comparison | BPF_K, reg, 0, 0, value);
  }
  // Lets JUMPS lead to here.
  void land(const Jumps& jumps) {
    for (const size_t jump : jumps) {
      program_[jump].off = static_cast<int16_t>(program_.size() - jump - 1);
    }
  }

  void load_frame();
  void load_rest(uint32_t from, uint32_t most, int place);
  void insert_vlan();
  void fail_if_short(const Condition& condition, Jumps& failed);
  void fail_unless_equal(const Condition& condition, Jumps& failed);
  void fail_unless_in(const Condition& condition, Jumps& failed);
  void fail_unless(const Condition& condition, Jumps& failed);
  void put_key(const std::vector<Field>& parts);
  void count(size_t rule);
  void remember(const Field& field);
  bool emit_verdict(const FrameRule& rule);
  bool emit_rule(size_t number);
  bool emit_chain(const std::string& chain);

  const std::vector<FrameRule>& rules_;
  Instructions program_;
};

// Loads the frame from its byte FROM on to PLACE, and MOST bytes at most.
void Compiler::load_rest(uint32_t from, uint32_t most, int place) {
  load_context(BPF_REG_4, offsetof(__sk_buff, len));
  Jumps is_short;
  jump_if(BPF_JLT, BPF_REG_4, static_cast<int32_t>(from + 1), is_short);
  emit(BPF_ALU64 | BPF_SUB | BPF_K, BPF_REG_4, 0, 0, static_cast<int32_t>(from));
  Jumps is_small;
  jump_if(BPF_JLE, BPF_REG_4, static_cast<int32_t>(most), is_small);
  set(BPF_REG_4, static_cast<int32_t>(most));
  land(is_small);
  move(BPF_REG_1, kContext);
  set(BPF_REG_2, static_cast<int32_t>(from));
  point_to(BPF_REG_3, place);
  call(BPF_FUNC_skb_load_bytes);
  Jumps loaded;
  jump_if(BPF_JEQ, BPF_REG_0, 0, loaded);
  land(is_short);
  leave_with(TC_ACT_SHOT);
  land(loaded);
}

// The kernel keeps a VLAN tag beside the frame. It is put back, so that its place is the same
// whoever added it.
void Compiler::insert_vlan() {
  emit(BPF_ALU64 | BPF_ADD | BPF_K, kLength, 0, 0, kVlanBytes);
  load_rest(kMacs, kMostLoaded - kMacs, kFrame + static_cast<int>(kMacs + kVlanBytes));
  load_context(BPF_REG_1, offsetof(__sk_buff, vlan_proto));  // in network byte order
  store(kFrame + static_cast<int>(kMacs), BPF_REG_1, 2);
  load_context(BPF_REG_1, offsetof(__sk_buff, vlan_tci));
  emit(BPF_ALU | BPF_END | BPF_TO_BE, BPF_REG_1, 0, 0, 16);
  store(kFrame + static_cast<int>(kMacs) + 2, BPF_REG_1, 2);
}

void Compiler::load_frame() {
  move(kContext, BPF_REG_1);
  zero(kFrame, kFrameBytes);
  zero(kKey, static_cast<uint32_t>(kFrame - 6 - kKey) / 8 * 8);
  load_context(kLength, offsetof(__sk_buff, len));
  load_rest(0, kMostLoaded, kFrame);
  load_context(BPF_REG_1, offsetof(__sk_buff, vlan_present));
  Jumps has_none;
  jump_if(BPF_JEQ, BPF_REG_1, 0, has_none);
  insert_vlan();
  land(has_none);
}

void Compiler::fail_if_short(const Condition& condition, Jumps& failed) {
  uint32_t end = 0;
  for (const Field& field : condition.fields) end = std::max(end, field.offset + field.size);
  if (end <= kHeader) return;
  jump_if(BPF_JLT, kLength, static_cast<int32_t>(end), failed);
}

void Compiler::fail_unless_equal(const Condition& condition, Jumps& failed) {
  const Field& field = condition.fields.front();
  for (uint32_t done = 0; done < field.size;) {
    const int place = place_of(field) + static_cast<int>(done);
    // Two bytes fit into the signed number of an instruction.
    const uint32_t size = chunk(place, 0, field.size - done, 2);
    uint16_t bits = 0;
    uint16_t value = 0;
    std::memcpy(&bits, condition.mask.data() + done, size);
    std::memcpy(&value, condition.value.data() + done, size);
    load(BPF_REG_1, place, size);
    if (bits != (size == 1 ? 0xff : 0xffff))
      emit(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, bits);
    jump_if(BPF_JNE, BPF_REG_1, value, failed);
    done += size;
  }
}

void Compiler::put_key(const std::vector<Field>& parts) {
  int into = kKey;
  for (const Field& part : parts) {
    const uint32_t padded = parts.size() == 1 ? part.size : (part.size + 3) / 4 * 4;
    if (padded != part.size) zero(into + static_cast<int>(padded) - 4, 4);
    for (uint32_t done = 0; done < part.size;) {
      const int to = into + static_cast<int>(done);
      const int from = place_of(part) + static_cast<int>(done);
      const uint32_t size = chunk(from, to, part.size - done, 8);
      load(BPF_REG_1, from, size);
      store(to, BPF_REG_1, size);
      done += size;
    }
    into += static_cast<int>(padded);
  }
}

void Compiler::fail_unless_in(const Condition& condition, Jumps& failed) {
  put_key(condition.fields);
  load_map(static_cast<size_t>(condition.set));
  point_to(BPF_REG_2, kKey);
  call(BPF_FUNC_map_lookup_elem);
  jump_if(BPF_JEQ, BPF_REG_0, 0, failed);
}

void Compiler::fail_unless(const Condition& condition, Jumps& failed) {
  fail_if_short(condition, failed);
  switch (condition.kind) {
    case Condition::Kind::kEqual:
      return fail_unless_equal(condition, failed);
    case Condition::Kind::kBetween:
      load(BPF_REG_1, place_of(condition.fields.front()), 1);
      jump_if(BPF_JLT, BPF_REG_1, condition.first, failed);
      return jump_if(BPF_JGT, BPF_REG_1, condition.last, failed);
    case Condition::Kind::kIn:
      return fail_unless_in(condition, failed);
    case Condition::Kind::kOwnSocket:
      return;  // see emit_rule()
  }
}

void Compiler::count(size_t rule) {
  emit(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, kKey, static_cast<int32_t>(rule));
  load_map(kCountMap);
  point_to(BPF_REG_2, kKey);
  call(BPF_FUNC_map_lookup_elem);
  Jumps absent;
  jump_if(BPF_JEQ, BPF_REG_0, 0, absent);
  set(BPF_REG_1, 1);
  emit(BPF_STX | kAtomic | BPF_DW, BPF_REG_0, BPF_REG_1, offsetof(Count, frames), BPF_ADD);
  land(absent);
}

void Compiler::remember(const Field& field) {
  put_key({field});
  zero(kValue, kOthersValueBytes);
  load_map(static_cast<size_t>(SetId::kOthers));
  point_to(BPF_REG_2, kKey);
  point_to(BPF_REG_3, kValue);
  set(BPF_REG_4, BPF_ANY);
  call(BPF_FUNC_map_update_elem);
}

// Returns whether a frame can get beyond the verdict.
bool Compiler::emit_verdict(const FrameRule& rule) {
  switch (rule.verdict) {
    case Verdict::kNext:
      return true;
    case Verdict::kJump:
      return emit_chain(rule.target);
    case Verdict::kAccept:
      leave_with(TC_ACT_UNSPEC);
      return false;
    case Verdict::kDrop:
      leave_with(TC_ACT_SHOT);
      return false;
  }
  return true;
}

// Returns whether a frame can get to the next rule. The kernel refuses programs with instructions
// that nothing leads to.
bool Compiler::emit_rule(size_t number) {
  const FrameRule& rule = rules_[number];
  Jumps failed;
  for (const Condition& condition : rule.conditions) fail_unless(condition, failed);
  if (rule.remembered) remember(*rule.remembered);
  if (rule.is_counted) count(number);
  const bool goes_on = emit_verdict(rule);
  land(failed);
  return goes_on || !failed.empty();
}

bool Compiler::emit_chain(const std::string& chain) {
  const auto cannot_hold = [](const FrameRule& rule) {
    return std::any_of(rule.conditions.begin(), rule.conditions.end(), [](const Condition& each) {
      return each.kind == Condition::Kind::kOwnSocket;
    });
  };
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].chain != chain || cannot_hold(rules_[i])) continue;
    if (!emit_rule(i)) return false;
  }
  return true;
}

}  // namespace

Count count_of(const FrameRule& rule) {
  Count count{};
  const std::string text = base::str(rule.chain, kBetween, rule.comment);
  std::memcpy(count.rule, text.data(), std::min(text.size(), sizeof count.rule - 1));
  return count;
}

Counted read_count(std::span<const uint8_t, sizeof(Count)> value) {
  Count count{};
  std::memcpy(&count, value.data(), sizeof count);
  const std::string text(count.rule, ::strnlen(count.rule, sizeof count.rule));
  const size_t end = text.find(kBetween);
  if (end == std::string::npos) return {};
  return {text.substr(0, end), text.substr(end + kBetween.size()), count.frames};
}

Instructions compile(const std::vector<FrameRule>& rules, const std::string& chain) {
  return Compiler(rules).compile(chain);
}

void set_maps(Instructions& program, std::span<const int> maps) {
  for (bpf_insn& each : program) {
    const bool loads_a_map =
        each.code == (BPF_LD | BPF_IMM | BPF_DW) && each.src_reg == BPF_PSEUDO_MAP_FD;
    if (loads_a_map) each.imm = maps[static_cast<size_t>(each.imm)];
  }
}

// FNV-1a, 64 bits.
uint64_t fingerprint(const Instructions& program) {
  uint64_t hash = 14695981039346656037ULL;
  for (const std::byte byte : std::as_bytes(std::span(program))) {
    hash = (hash ^ static_cast<uint8_t>(byte)) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace netns::border
