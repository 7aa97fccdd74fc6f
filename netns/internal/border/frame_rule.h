// SPDX-License-Identifier: Apache-2.0
// Rules on whole frames, as values. A carrier (carrier.h) makes the kernel follow them.
//
// A frame is judged by bytes at fixed places, not by the headers that the kernel finds: whoever
// sends raw frames decides what the kernel finds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netns/internal/frame.h"

namespace netns::border {

// The sets of keys. A key has its parts one after the other, each filled up with zeros to whole
// words of four bytes if the key has several parts.
enum class SetId : uint8_t {
  kMacs,        // MAC of a container
  kOthers,      // MACs that passed though nobody knows them; rules add them
  kAddresses4,  // address of a container
  kOwn4,        // MAC, MAC, address
  kPeers4,      // MAC, address, address of a peer or its own
  kEndpoints4,  // MAC, address, address of a peer, port
  kAddresses6,
  kOwn6,  // MAC, address, address
  kPeers6,
  kEndpoints6,
};
enum class Part : uint8_t { kNone, kMac, kIpv4, kIpv6, kPort };
struct SetLayout {
  SetId id;
  const char* name;
  std::array<Part, 4> parts;
  bool begins_with_mac;
};
inline constexpr std::array<SetLayout, 10> kSets{{
    {SetId::kMacs, "macs", {Part::kMac}, true},
    {SetId::kOthers, "others", {Part::kMac}, false},
    {SetId::kAddresses4, "addresses4", {Part::kIpv4}, false},
    {SetId::kOwn4, "own4", {Part::kMac, Part::kMac, Part::kIpv4}, true},
    {SetId::kPeers4, "peers4", {Part::kMac, Part::kIpv4, Part::kIpv4}, true},
    {SetId::kEndpoints4, "endpoints4", {Part::kMac, Part::kIpv4, Part::kIpv4, Part::kPort}, true},
    {SetId::kAddresses6, "addresses6", {Part::kIpv6}, false},
    {SetId::kOwn6, "own6", {Part::kMac, Part::kIpv6, Part::kIpv6}, true},
    {SetId::kPeers6, "peers6", {Part::kMac, Part::kIpv6, Part::kIpv6}, true},
    {SetId::kEndpoints6, "endpoints6", {Part::kMac, Part::kIpv6, Part::kIpv6, Part::kPort}, true},
}};
// The most that kOthers holds.
inline constexpr uint32_t kMostOthers = 1024;

inline const SetLayout& layout_of(SetId set) { return kSets[static_cast<size_t>(set)]; }
constexpr uint32_t size_of(Part part) {
  switch (part) {
    case Part::kNone:
      return 0;
    case Part::kMac:
      return 6;
    case Part::kIpv4:
      return 4;
    case Part::kIpv6:
      return 16;
    case Part::kPort:
      return 2;
  }
  return 0;
}
// Returns the bytes of a key of SET.
uint32_t key_size(const SetLayout& set);

// A condition fails if the frame ends before its last field does.
struct Condition {
  enum class Kind {
    kEqual,      // the bits of MASK in the field are VALUE
    kBetween,    // the one byte of the field is from FIRST to LAST
    kIn,         // the fields, as a key, are in SET
    kOwnSocket,  // a socket of the host's namespace sends the frame; never true for a carrier that
                 // cannot know
  };
  Kind kind = Kind::kEqual;
  std::vector<Field> fields = {};
  std::vector<uint8_t> mask = {};
  std::vector<uint8_t> value = {};
  uint8_t first = 0;
  uint8_t last = 0;
  SetId set = SetId::kMacs;
};

enum class Verdict { kNext, kAccept, kDrop, kJump };

// One rule of a chain: conditions, tested in order, all of which must hold, and then the verdict.
// A frame at the end of a chain goes back to where the chain was jumped to, and passes at the end
// of a base chain.
struct FrameRule {
  std::string chain;
  std::string comment;  // for readers
  std::vector<Condition> conditions = {};
  std::optional<Field> remembered = {};  // is added to kOthers
  bool is_counted = false;
  Verdict verdict = Verdict::kNext;
  std::string target = {};  // the chain of kJump

  FrameRule& is(Field field, std::vector<uint8_t> value) {
    std::vector<uint8_t> all(value.size(), 0xff);
    return is(field, std::move(all), std::move(value));
  }
  FrameRule& is(Field field, std::vector<uint8_t> mask, std::vector<uint8_t> value) {
    conditions.push_back({Condition::Kind::kEqual, {field}, std::move(mask), std::move(value)});
    return *this;
  }
  FrameRule& is_between(Field field, uint8_t first, uint8_t last) {
    conditions.push_back({Condition::Kind::kBetween, {field}, {}, {}, first, last});
    return *this;
  }
  FrameRule& is_in(SetId set, std::initializer_list<Field> fields) {
    conditions.push_back({Condition::Kind::kIn, fields, {}, {}, 0, 0, set});
    return *this;
  }
  FrameRule& is_of_own_socket() {
    conditions.push_back({Condition::Kind::kOwnSocket});
    return *this;
  }
  FrameRule& remember(Field field) {
    remembered = field;
    return *this;
  }
};

}  // namespace netns::border
