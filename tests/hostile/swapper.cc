// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/swapper.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "base/fd.h"

namespace hostile {
namespace {

// A swap by the directory that both are in, which is opened before anything moves: a path could
// lead to the outside by another swap.
struct Pair {
  base::Fd directory;
  std::string place;
  std::string other;
};

std::vector<Pair> open_all(const std::vector<Swap>& swaps) {
  std::vector<Pair> pairs;
  for (const Swap& swap : swaps) {
    const size_t slash = swap.place.rfind('/');
    base::Fd directory(
        ::open(swap.place.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    pairs.push_back(
        {std::move(directory), swap.place.substr(slash + 1), swap.other.substr(slash + 1)});
  }
  return pairs;
}

// Exchanges both in one step or, as a tool without renameat2 would, by way of a third name: the
// place is then absent for a moment.
bool exchange(const Pair& pair, bool at_once) {
  const int at = pair.directory.get();
  const char* const place = pair.place.c_str();
  const char* const other = pair.other.c_str();
  if (at_once) return ::renameat2(at, place, at, other, RENAME_EXCHANGE) == 0;
  const std::string third = pair.place + ".third";
  return ::renameat(at, place, at, third.c_str()) == 0 && ::renameat(at, other, at, place) == 0 &&
         ::renameat(at, third.c_str(), at, other) == 0;
}

}  // namespace

Swapper::Swapper(const std::vector<Swap>& swaps, uint64_t seed) {
  if (swaps.empty()) return;
  thread_ = std::thread([this, pairs = open_all(swaps), seed] {
    Random random(seed);
    while (!ends_) {
      const Pair& pair = pairs[random() % pairs.size()];
      if (exchange(pair, random() % 8 != 0)) ++made_;
      // Sometimes a burst, sometimes a pause as long as a few system calls of the other side.
      if (random() % 4 == 0) ::usleep(static_cast<useconds_t>(random() % 300));
    }
  });
}

uint64_t Swapper::end() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  return made_;
}

}  // namespace hostile
