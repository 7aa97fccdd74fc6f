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

// Asks without a transaction: one that fails costs 10 ms and more.
base::Result<bool> has_table(nl::Socket& socket, const Table& table);

// Removes TABLES in one transaction. An absent one is not an error.
base::Result<base::Removed> remove_tables(const Namespace& in, std::initializer_list<Table> tables);
base::Result<base::Removed> remove_tables(nl::Socket& socket, std::initializer_list<Table> tables);

}  // namespace netns::nft
