// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/lease.h"

#include <algorithm>

#include "base/text.h"

namespace hook {
namespace {

constexpr size_t kIdLength = 32;

uint8_t hash_byte(std::string_view text) {
  uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<uint8_t>((hash >> 24) ^ (hash >> 16) ^ (hash >> 8) ^ hash);
}

}  // namespace

std::string_view name_of(LeaseState state) {
  switch (state) {
    case LeaseState::kIntent:
      return "INTENT";
    case LeaseState::kAllocated:
      return "ALLOCATED";
    case LeaseState::kRunning:
      return "RUNNING";
    case LeaseState::kReleasing:
      return "RELEASING";
    case LeaseState::kFree:
      return "FREE";
    case LeaseState::kFailed:
      return "FAILED";
  }
  return "?";
}

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::kNamed:
      return "NAMED";
    case Origin::kShared:
      return "SHARED";
    case Origin::kOwn:
      break;
  }
  return "OWN";
}

bool is_live(LeaseState state) {
  return state != LeaseState::kFree && state != LeaseState::kFailed;
}

std::string partition_name(std::string_view lease_id) {
  return base::str("c-", lease_id.substr(0, 12));
}

netns::MacAddress mac_of(std::string_view pool, netns::Ipv4 address) {
  constexpr uint8_t kLocallyAdministered = 0x02;
  const auto byte = [&](int shift) { return static_cast<uint8_t>(address.value >> shift); };
  return {{kLocallyAdministered, hash_byte(pool), byte(24), byte(16), byte(8), byte(0)}};
}

bool is_lease_id(std::string_view text) {
  return text.size() == kIdLength && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace hook
