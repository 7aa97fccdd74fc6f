// SPDX-License-Identifier: Apache-2.0
// What all that keeps keys in the store needs.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/store.h"

namespace vipu::wire {
class Fields;
}

namespace hook::fleet {

// Bounds of what a record has: bytes of a text, IPUs (far above a POD's), and a unix time in ms, so
// that differences of times are numbers.
inline constexpr size_t kMaxWord = 256;
inline constexpr uint32_t kMostIpus = 65'536;
inline constexpr int64_t kLatestMs = int64_t{1} << 53;

// Returns the flag KEY of a record.
base::Result<bool> read_flag(const vipu::wire::Fields& fields, const char* key);

// Returns kInvalid: the store has something else at KEY than this product would put there.
[[nodiscard]] base::Error something_else(const std::string& key);

// Returns the key that is there while the store is of the version that this release knows, and the
// fleet there is ID.
[[nodiscard]] std::string version_key(const std::string& prefix, const std::string& id);

// Commits TXN if the store is of the version that this release knows, and has the fleet that this
// host has joined (kNotFound); if it has joined none, it joins the one that is there. Fails with
// kDenied if the store has gone back behind FLEET's mark.
base::Result<TxnResult> commit_if_known(const Fleet& fleet, Txn txn);

// Returns the key that is there while an import has begun and not ended, and what joins are told.
[[nodiscard]] std::string import_key(const std::string& prefix);
[[nodiscard]] base::Error import_begun();

// Returns the key that says that HOST was declared dead, and what it is told.
[[nodiscard]] std::string fence_key(const std::string& prefix, const std::string& host);
[[nodiscard]] base::Error fenced(const std::string& host);

// Returns the key that says that HOST is heard of, and the one that another host with its tag puts.
[[nodiscard]] std::string alive_key(const std::string& prefix, const std::string& host);
[[nodiscard]] std::string twin_key(const std::string& prefix, const std::string& host);
// Adds to TXN that neither of them is there.
void require_silence(Txn& txn, const std::string& prefix, const std::string& host);

// Returns KEY if the store has it.
base::Result<std::optional<KeyValue>> find_key(Store& store, const std::string& key,
                                               const base::Deadline& deadline);

// Removes the keys below PREFIX that are of HOST by the text "host" of their values, also where the
// rest of a value cannot be read.
base::Status remove_keys_of(const Fleet& fleet, const std::string& prefix, const std::string& host);
// Returns the text KEY of VALUE; empty if there is none.
[[nodiscard]] std::string text_in(const std::string& value, const char* key);

// Returns the compare that holds while KEY is as FOUND; unset: while it is absent.
[[nodiscard]] Compare unchanged(const std::string& key, const std::optional<KeyValue>& found);

}  // namespace hook::fleet
