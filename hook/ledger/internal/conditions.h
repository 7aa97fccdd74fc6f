// SPDX-License-Identifier: Apache-2.0
// SQL conditions on a row of `lease`. They are macros because a statement joins them with its other
// literals.
#pragma once

#include <string_view>

// The partial indexes of the schema have the same words, or SQLite would not use them.
#define LEASE_IS_LIVE "state NOT IN ('FREE', 'FAILED')"
#define LEASE_HAS_ENDED "state IN ('FREE', 'FAILED')"
#define LEASE_IS_ALONE "origin NOT IN ('SHARED', 'JOINED')"

// Whether another live lease has a GCD of the row ONE, which both want for themselves.
#define LEASE_GCDS_ARE_TAKEN(one)                                        \
  one "." LEASE_IS_LIVE " AND " one "." LEASE_IS_ALONE                   \
      " AND EXISTS (SELECT 1 FROM lease AS other WHERE other.id <> " one \
      ".id AND other.pool = " one ".pool AND other.partition = " one     \
      ".partition AND other.gcd < " one ".gcd + " one ".gcds AND " one   \
      ".gcd < other.gcd + other.gcds AND other." LEASE_IS_LIVE " AND other." LEASE_IS_ALONE ")"

namespace hook::ledger {

// Of a pool and a partition, its parameters.
inline constexpr std::string_view kLiveOfPartition =
    "pool = ? AND partition = ? AND " LEASE_IS_LIVE;

}  // namespace hook::ledger
