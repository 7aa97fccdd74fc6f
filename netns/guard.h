// SPDX-License-Identifier: Apache-2.0
// The guard: an nftables table `inet ipu-guard` in the host's network namespace, which drops what
// the host forwards to the fabric and to controllers. Containers without IPUs would reach them by
// an engine's bridge. What the host itself sends or receives is not concerned, nor what a RoCE
// interface of a container sends (border.h).
//
// Answers to a connection that came from there pass, such as those of a published port. The guard
// outlives its makers; it ends with `nft flush ruleset` and at boot.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

struct Guard {
  std::vector<std::string> interfaces;  // nothing is forwarded to these, nor to PREFIXES,
  std::vector<Prefix> prefixes;
  std::vector<Prefix> allowed;  // unless it is from or to one of these
};

enum class Ensured { kWasThere, kMade };

// Makes the guard as GUARD says, in one transaction, unless it is so. Returns kUnsupported if the
// kernel has no connection tracking in nftables.
base::Result<Ensured> ensure_guard(const Namespace& host, const Guard& guard);

// Returns whether a guard stands, whatever it says.
base::Result<bool> has_guard(const Namespace& host);

// Returns the prefixes of the guard that stands; none if there is no guard.
base::Result<std::vector<Prefix>> guarded_prefixes(const Namespace& host);

// Removes the guard.
base::Result<base::Removed> remove_guard(const Namespace& host);

}  // namespace netns
