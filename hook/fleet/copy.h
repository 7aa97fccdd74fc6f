// SPDX-License-Identifier: Apache-2.0
// A copy of what the store has below a prefix, as a file: for a store that is lost, or replaced.
// What lives with a lease of the store is not in it: who is alive, and who waits. Neither are idle
// warm partitions: a container may have one by the time the copy comes back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/fleet/store.h"

namespace hook::fleet {

inline constexpr size_t kMaxCopy = size_t{32} << 20;  // bytes of a file
inline constexpr size_t kMostCopied = 100'000;        // keys

struct Copy {
  std::string fleet;           // its id
  int64_t revision = 0;        // of the store
  int64_t made_ms = 0;         // unix time
  std::vector<KeyValue> keys;  // names below the prefix, and values; without "meta"
  bool operator==(const Copy&) const = default;
};

// Reads a copy, all at one revision; of more than kMaxListing bytes, each folder at its own. Fails
// with kNotFound if there is no fleet below PREFIX.
base::Result<Copy> read_copy(Store& store, const std::string& prefix, int64_t now_ms,
                             const base::Deadline& deadline);
[[nodiscard]] std::string to_text(const Copy& copy);
// Returns kInvalid, and says what is wrong, if TEXT is no copy that a fleet can have; kUnsupported
// if a newer release made it.
base::Result<Copy> parse_copy(std::string_view text);

// Whether a copy may take the place of what is below the prefix.
enum class Replace { kNo, kYes };
// What becomes of the copy's fences that the store does not have: their hosts may have been
// forgotten since the copy was made, and a fence ends what runs there.
enum class OldFences { kRefuse, kBring, kDrop };
// Writes COPY below PREFIX. Fails with kExists if there is something and REPLACE is kNo; with
// kBusy, having changed nothing, if a host is alive or another import has begun (kYes takes its
// place); with kInvalid, having changed nothing, if the copy has such fences and OLD is kRefuse.
// A key of its own is there from the first change to the last, and each change goes by it, so two
// imports never mix. "meta" goes first and comes last, so no host joins in between. After another
// error, some keys may be missing: repeat it with kYes. Fences that are there stay, and what the
// copy has of fenced hosts is left out. Each partition counts as used: a container may have had it
// since the copy was made.
base::Status write_copy(Store& store, const std::string& prefix, const Copy& copy, Replace replace,
                        OldFences old, const base::Deadline& deadline);
// Fails with kInvalid if COPY is not of the fleet KNOWN, which this host has joined; empty: none.
base::Status check_copy(const Copy& copy, const std::string& known);

}  // namespace hook::fleet
