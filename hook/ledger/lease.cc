// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/lease.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/text.h"
#include "vipu/made_name.h"

namespace hook::ledger {
namespace {

constexpr size_t kIdLength = 32;
constexpr int64_t kLongestPauseMs = int64_t{5} * 60 * 1000;

constexpr uint32_t kHashStart = 2166136261U;  // FNV-1a
uint32_t hash_on(uint32_t hash, uint8_t byte) { return (hash ^ byte) * 16777619U; }

uint8_t hash_byte(std::string_view text) {
  uint32_t hash = kHashStart;
  for (const char c : text) hash = hash_on(hash, static_cast<uint8_t>(c));
  return static_cast<uint8_t>((hash >> 24) ^ (hash >> 16) ^ (hash >> 8) ^ hash);
}

// Returns the number of an address for its MAC. Addresses that differ only in their last four
// bytes, as those of one range do, never have the same number in the same attempt.
uint32_t number_of(const netns::Address& address, uint32_t attempt) {
  const std::span<const uint8_t> raw = address.raw();
  uint32_t number = 0;
  for (const uint8_t byte : raw.last(4)) number = number << 8 | byte;
  if (address.is_ipv4() && attempt == 0) return number;
  uint32_t hash = kHashStart;
  for (const uint8_t byte : raw.first(raw.size() - 4)) hash = hash_on(hash, byte);
  return number ^ hash_on(hash, static_cast<uint8_t>(attempt));
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
    case LeaseState::kQuarantine:
      return "QUARANTINE";
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
    case Origin::kForeign:
      return "FOREIGN";
    case Origin::kJoined:
      return "JOINED";
    case Origin::kOwn:
      break;
  }
  return "OWN";
}

bool is_live(LeaseState state) {
  return state != LeaseState::kQuarantine && state != LeaseState::kFree &&
         state != LeaseState::kFailed;
}

int64_t retry_pause_ms(uint32_t attempts) {
  constexpr int64_t kFirstMs = 2000;
  constexpr uint32_t kMostDoublings = 8;  // more than the longest pause needs
  if (attempts == 0) return 0;
  return std::min(kFirstMs << std::min(attempts - 1, kMostDoublings), kLongestPauseMs);
}

bool is_due(int64_t retry_ms, int64_t now_ms) {
  return retry_ms <= now_ms || retry_ms > now_ms + kLongestPauseMs;
}

std::string partition_name(std::string_view host, std::string_view lease_id) {
  return vipu::to_string({vipu::MadeFor::kLease, std::string(host),
                          std::string(lease_id.substr(0, vipu::kNumberDigits))});
}

bool is_reserved_name(std::string_view name) { return vipu::parse_made_name(name).has_value(); }

bool is_name_for(std::string_view name, std::string_view lease_id) {
  const std::optional<vipu::MadeName> made = vipu::parse_made_name(name);
  return made && made->what == vipu::MadeFor::kLease && lease_id.starts_with(made->number);
}

netns::MacAddress mac_of(std::string_view pool, const netns::Address& address, uint32_t attempt) {
  constexpr uint8_t kLocallyAdministered = 0x02;
  const uint32_t number = number_of(address, attempt);
  const auto byte = [&](int shift) { return static_cast<uint8_t>(number >> shift); };
  return {{kLocallyAdministered, hash_byte(pool), byte(24), byte(16), byte(8), byte(0)}};
}

bool same_gcds(const Lease& a, const Lease& b) {
  return a.pool == b.pool && a.partition == b.partition && a.gcd == b.gcd && a.gcds == b.gcds;
}

bool gcds_overlap(const Lease& a, const Lease& b) {
  return a.pool == b.pool && a.partition == b.partition && a.gcd < b.gcd + b.gcds &&
         b.gcd < a.gcd + a.gcds;
}

std::string gcds_text(const Lease& lease) {
  return lease.gcds > 1 ? base::str("all ", lease.gcds, " GCDs") : base::str("GCD ", lease.gcd);
}

bool is_lease_id(std::string_view text) {
  return text.size() == kIdLength && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace hook::ledger
