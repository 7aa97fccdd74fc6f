// SPDX-License-Identifier: Apache-2.0
// The page of `ipuctl top`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/ipuctl/screen/screen.h"

namespace ipuctl::screen {

struct TopPool {
  std::string name;
  bool answers = false;  // no: the next four are not known
  uint32_t ipus = 0;
  uint32_t used = 0;
  uint32_t tainted = 0;
  uint32_t largest_free = 0;
  std::optional<uint32_t> busy = {};  // percent of the time measured today; unset: nobody measured
};

// A lease, a container that waits, or a reservation.
struct TopEntry {
  std::string container;
  std::string name = {};
  std::string tenant = {};
  std::string pool = {};
  std::string partition = {};
  std::string address = {};
  std::string lease = {};
  uint32_t ipus = 0;
  std::string state = {};  // "RUNNING", "WAITING 2 of 3"
  int64_t since_ms = 0;    // unix time
};

struct TopFacts {
  int64_t now_ms = 0;  // unix time
  std::vector<TopPool> pools;
  std::vector<TopEntry> entries;
  std::vector<std::string> troubles = {};  // one line each
};

enum class Sort { kAge, kIpus, kName, kTenant, kPool, kState };
// Returns what the key sorts by; unset: another key.
[[nodiscard]] std::optional<Sort> sort_of(char key);

struct TopLook {
  Size size;
  Sort sort = Sort::kAge;
  bool reversed = false;
  bool colour = false;
};

// Returns the page as lines for drawing(). None is wider than LOOK's columns, and there are at most
// as many as its rows: the last entries are left out, with their number.
[[nodiscard]] std::string top_page(const TopFacts& facts, const TopLook& look);

}  // namespace ipuctl::screen
