// SPDX-License-Identifier: Apache-2.0
// The CDI files of a host: by them, an engine gives a container IPUs that its user named with
// --device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hook::cdi {

struct Card {
  uint32_t number = 0;             // the N of /dev/ipuN
  std::vector<std::string> nodes;  // "/dev/ipu0", ...; empty: it is not there at the moment
};

// A pool of cards.
struct CardPool {
  std::string name;
  std::vector<std::vector<Card>> groups;  // in the order of the configuration
};

struct NamedPartition {
  std::string pool;
  std::string name;
};

// What can be named on a host. The devices of the first pool of cards, and those of the first pool,
// have plain names; the others begin with "POOL.".
struct Inventory {
  std::vector<CardPool> cards;
  std::string first_pool;
  std::vector<NamedPartition> partitions;
};

struct File {
  std::string name;  // "graphcore.ai-ipu.json"
  std::string text;  // empty: there is no device, and a CDI file must have one
};

struct Files {
  std::vector<File> files;           // one of each kind, in the order of kFileNames
  std::vector<std::string> unnamed;  // devices whose names CDI does not allow
};

inline constexpr std::string_view kFileNames[] = {"graphcore.ai-ipu.json",
                                                  "graphcore.ai-partition.json"};

// Returns the files for INVENTORY, the same for the same inventory in whatever order. Their devices
// have the nodes of cards, which engines look up at each start, and hooks by HOOK_PROGRAM, which
// take the lease of exactly these cards. Without the lease, a container does not start. A group has
// no device while one of its cards is not there, and "all" neither: nobody gets a part for a whole.
[[nodiscard]] Files make_files(const Inventory& inventory, const std::string& hook_program);

}  // namespace hook::cdi
