// SPDX-License-Identifier: Apache-2.0
#include "hook/container/request/values.h"

#include <algorithm>
#include <bit>

#include "base/names.h"
#include "base/text.h"

namespace hook::request {

using namespace base::names;

Error refused(const Given& given, std::string_view accepted) {
  return Error(Code::kInvalid,
               str(given.name, "=", base::quote(given.value), " is not accepted: ", accepted));
}

Result<uint32_t> parse_count(const Given& given, const config::PolicyConfig& policy) {
  const Result<uint32_t> count = base::parse_int<uint32_t>(given.value, 1, policy.max_ipus);
  if (count.ok() && std::has_single_bit(count.value())) return count;
  return refused(given, str("give a power of two from 1 to ", std::bit_floor(policy.max_ipus)));
}

Result<uint32_t> parse_gcd(const Given& given) {
  constexpr uint32_t kMaxGcd = 255;
  const Result<uint32_t> number = base::parse_int<uint32_t>(given.value, 0, kMaxGcd);
  if (!number.ok()) return refused(given, "give the number of a GCD from 0 to 255, or 'all'");
  return number;
}

Result<std::vector<uint32_t>> parse_cards(const Given& given) {
  constexpr uint32_t kMaxCard = 4095;
  const Error wrong =
      refused(given, "give card numbers such as 0,2-3 (each once), 'all' or 'none'");
  std::vector<uint32_t> cards;
  for (const std::string_view piece : base::split(given.value, ',')) {
    const size_t dash = piece.find('-');
    const Result<uint32_t> first = base::parse_int<uint32_t>(piece.substr(0, dash), 0, kMaxCard);
    if (!first.ok()) return wrong;
    const Result<uint32_t> last =
        dash == std::string_view::npos
            ? first
            : base::parse_int<uint32_t>(piece.substr(dash + 1), first.value(), kMaxCard);
    if (!last.ok()) return wrong;
    for (uint32_t card = first.value(); card <= last.value(); ++card) cards.push_back(card);
  }
  std::sort(cards.begin(), cards.end());
  if (std::adjacent_find(cards.begin(), cards.end()) != cards.end()) return wrong;
  return cards;
}

Result<Flag> parse_flag(const Given& given) {
  if (given.value == "0") return Flag::kNo;
  if (given.value == "1") return Flag::kYes;
  return refused(given, "give 0 or 1");
}

WaitLimit wait_limit(const config::PolicyConfig& policy, bool is_of_pod) {
  if (is_of_pod && policy.max_wait_cri < policy.max_wait)
    return {"policy.max_wait_cri", policy.max_wait_cri};
  return {"policy.max_wait", policy.max_wait};
}

Result<std::chrono::milliseconds> parse_wait(const Given& given, const WaitLimit& limit) {
  constexpr std::chrono::hours kAny{365 * 24};  // so that each longer wait meets the limit
  const Result<std::chrono::milliseconds> time = base::parse_duration(given.value, kAny);
  if (!time.ok()) return refused(given, "give a duration such as 90s or 5m");
  if (time.value() <= limit.time) return time;
  return refused(given,
                 str(limit.key, " of this host allows at most ", base::format_duration(limit.time),
                     "; wait less, or let an administrator raise it in config.toml"));
}

}  // namespace hook::request
