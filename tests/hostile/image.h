// SPDX-License-Identifier: Apache-2.0
// A bundle whose image and mounts are made by an attacker, from a seed.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace hostile {

using Random = std::mt19937_64;

// Who prepares the container.
enum class Way {
  kWrapper,   // ipu-container-runtime, which becomes runc
  kHookRunc,  // ipu-container-hook alone, called by runc
  kHookCrun,  // the same, called by crun
};
inline constexpr Way kWays[] = {Way::kWrapper, Way::kHookRunc, Way::kHookCrun};
const char* name_of(Way way);

// What stays the same in all starts.
struct Site {
  std::string hook;     // path of ipu-container-hook
  std::string outside;  // a directory that is not the container's; see outside.h
  std::string program;  // a static program that ends at once, on the file system of the bundles
  std::string cgroup;   // the parent of the containers' cgroups: "/ipu-host-7"
};

// What the swapper exchanges while the container starts: a place in the image, and what is beside
// it.
struct Swap {
  std::string place;
  std::string other;
};

struct Image {
  std::vector<Swap> swaps;
  bool has_mounts = false;  // of the attacker
  std::string what;         // what is in it, on one line, for people
};

// Makes the bundle DIRECTORY, which is absent: config.json, rootfs, and a volume that it mounts.
// Each path that the product touches is absent, or a directory, file, link (also to OUTSIDE), FIFO,
// device or socket, with or without a mount over it. Same RANDOM, same bundle. Ends the process if
// it cannot.
Image make_bundle(Random& random, Way way, const Site& site, const std::string& directory);

}  // namespace hostile
