// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sample_page.h"

#include <array>
#include <cmath>
#include <string>

#include "base/clock.h"
#include "base/text.h"

namespace test {
namespace {

using base::str;
using ipuctl::page::Day;
using ipuctl::page::Domain;
using ipuctl::page::Holding;
using ipuctl::page::Ipu;
using ipuctl::page::Page;
using ipuctl::page::Pool;
using ipuctl::page::State;

constexpr int64_t kNow = 1'795'740'245'250;  // 2026-11-27T00:44:05.250Z
constexpr int64_t kMinute = 60'000;
constexpr int64_t kDayMs = 86'400'000;
constexpr size_t kDomain = 64;
constexpr size_t kDays = 30;

std::string tenant_of(size_t number) {
  constexpr std::array<const char*, 10> kNames = {
      "vision",   "nlp",
      "speech",   kScriptName,
      "genomics", "",
      "robotics", "weather",
      "guests",   "a-team-with-a-long-name-of-the-department-of-applied-mathematics"};
  return kNames[number * number % 23 % kNames.size()];
}

std::string container_of(size_t number) {
  if (number % 100 == 1) return kScriptName;
  if (number % 100 == 2) return kQuotesName;
  if (number % 100 == 3) return kTurnedName;
  if (number % 100 == 4) return std::string(200, 'W');
  if (number % 100 == 5) return kImageName;
  return str("train-", number);
}

// What the IPUs behind those of leases are.
Ipu rest_of(size_t number) {
  switch (number % 24) {
    case 0:
    case 1:
    case 2:
    case 3:
      return {State::kReserved, "nlp", "r-1f2e3d4c-000000000001", "reservation night"};
    case 4:
    case 5:
      return {State::kKept, "", "p0"};
    case 6:
    case 7:
      return {State::kWarm, "", "w-1f2e3d4c-000000000002"};
    case 8:
      return {State::kDirty, "", "c-1f2e3d4c-000000000003"};
    case 9:
      return {State::kOther, "", "by-hand"};
    case 10:
      return {State::kUnhealthy, "", "", "", "link down <b>twice</b>"};
    case 11:
      return {State::kHeld, "vision", "c-1f2e3d4c-000000000004", "train-x", "ECC errors"};
    default:
      return {};
  }
}

Pool large_pool(size_t leases) {
  Pool pool{"pod1024", "10.1.2.3:8090"};
  for (size_t number = 0; number < 1024; ++number) {
    if (number % kDomain == 0)
      pool.domains.push_back({str("IPU-Link domain ", number / kDomain), {}});
    Ipu ipu = rest_of(number);
    if (number < leases)
      ipu = {State::kHeld, tenant_of(number / 4), str("c-1f2e3d4c-", number), container_of(number)};
    pool.domains.back().ipus.push_back(ipu);
  }
  pool.largest_free = 8;
  return pool;
}

Pool cards() {
  Pool pool{"cards", "/dev/ipu*"};
  pool.domains = {{"Card group 0", {}}, {"Card group 1", {}}};
  for (Domain& domain : pool.domains) domain.ipus.resize(4, {State::kDrained});
  return pool;
}

Day day_of(size_t number) {
  Day day;
  day.date = base::rfc3339(kNow - static_cast<int64_t>(kDays - 1 - number) * kDayMs).substr(0, 10);
  if (number < 3) return day;
  const double wave = std::sin(static_cast<double>(number) * 0.9);
  day.is_known = true;
  day.used = 0.55 + 0.3 * wave;
  if (number > 8) day.busy = 0.4 + 0.2 * wave;
  day.starts = 40 + static_cast<int64_t>(number);
  day.median_wait_ms = static_cast<int64_t>(std::exp(3.0 + 3.0 * (wave + 1.0)));
  day.longest_wait_ms = day.median_wait_ms * 90 + 40'000;
  day.refused = static_cast<int64_t>(number % 5);
  const double free = 1024 * (1 - *day.used);
  day.rooms["pod1024"] = {free, free * (0.3 + 0.01 * static_cast<double>(number))};
  day.rooms[kImageName] = {4, 2};
  return day;
}

void add_queue(Page& page) {
  for (size_t i = 1; i <= 14; ++i) {
    page.queue.push_back({i, 14, "pod1024", i == 2 ? kTurnedName : str("waiter-", i), tenant_of(i),
                          32, base::rfc3339(kNow - 40 * kMinute),
                          base::rfc3339(kNow + 20 * kMinute),
                          i == 1 ? "no free block of 32 IPUs (largest free: 8, free in all: 12)"
                                 : "behind waiter-1, for 32 IPUs"});
  }
}

}  // namespace

Page sample_page(size_t leases) {
  Page page;
  page.until = base::rfc3339(kNow);
  page.from = base::rfc3339((kNow / kDayMs - static_cast<int64_t>(kDays) + 1) * kDayMs);
  page.host = "1f2e3d4c";
  page.drained = str("since 2026-11-26T10:00:00Z: ", kScriptName);
  page.ipus = 1032;
  page.used = 0.58;
  page.busy = 0.41;
  page.starts = 1234;
  page.median_wait_ms = 1500;
  page.longest_wait_ms = 5'400'000;
  page.troubles = {"pool 'far': the controller at 10.9.9.9:8090 did not answer within 2s"};
  page.pools = {large_pool(leases),
                cards(),
                {"far", "10.9.9.9:8090", {}, 0, "the controller did not answer within 2s"}};
  for (size_t i = 0; i < kDays; ++i) page.days.push_back(day_of(i));
  for (size_t i = 0; i < leases; ++i) {
    std::string id = str(i);
    id.insert(0, 64 - id.size(), '7');
    page.holdings.push_back({container_of(i), id, i % 7 == 0 ? "aabbccdd" : "", tenant_of(i / 4),
                             "pod1024", str("c-1f2e3d4c-", i), 1, "RUNNING",
                             base::rfc3339(kNow - static_cast<int64_t>(i) * kMinute)});
  }
  page.holdings.push_back({"night", "", "", "nlp", "pod1024", "r-1f2e3d4c-000000000001", 4,
                           "RESERVED", base::rfc3339(kNow - kMinute),
                           base::rfc3339(kNow + 60 * kMinute)});
  add_queue(page);
  page.refusals = {{"vision", "tenant has no more than its limit", 41},
                   {"nlp", "pool has no free block of that size", 17},
                   {kScriptName, kQuotesName, 5},
                   {"", "", 2}};
  page.sums.headings = {"TENANT",         "HELD IPU-H",   "RESERVED IPU-H", "BUSY",
                        "MEASURED IPU-H", "UTILISATION",  "ENDED",          "STARTS",
                        "MEDIAN WAIT",    "LONGEST WAIT", "REFUSED"};
  page.sums.rows = {
      {kScriptName, "812.25", "0.00", "unknown", "-", "12.1%", "41", "44", "1.5s", "90.0s", "5"},
      {"nlp", "4021.50", "96.00", "61.0%", "3000.00", "39.9%", "812", "820", "2.0s", "5400.0s",
       "17"}};
  page.hosts = {"1f2e3d4c (pod-a): until 2026-11-27T00:44:05.250Z",
                "aabbccdd (pod-b): until 2026-11-27T00:41:11.000Z"};
  return page;
}

}  // namespace test
