// SPDX-License-Identifier: Apache-2.0
// What all tables of the product share.
#pragma once

#include <initializer_list>

#include "base/result.h"
#include "netns/internal/nft.h"
#include "netns/namespace.h"

namespace netns::nft {

// The tables in the host's namespace.
inline constexpr const char* kBorderName = "ipu-border";
inline constexpr const char* kGuardName = "ipu-guard";

// Returns whether ERR, the errno of a batch, means that the kernel lacks what the batch needs, or
// that a table is absent.
[[nodiscard]] bool is_missing(int err);

// Removes TABLES in one transaction. If one is absent, none is removed, which is not an error.
base::Result<base::Removed> remove_tables(const Namespace& in, std::initializer_list<Table> tables);

}  // namespace netns::nft
