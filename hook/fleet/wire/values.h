// SPDX-License-Identifier: Apache-2.0
// The values of the store that hosts share: keys with revisions, transactions, changes, leases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hook::fleet {

// Limits, in bytes, and the most operations of one transaction (etcd's default is 128).
inline constexpr size_t kMaxKey = 512;
inline constexpr size_t kMaxValue = size_t{64} << 10;
// Bytes of keys and values that one listing may have: as JSON, they may double.
inline constexpr size_t kMaxListing = size_t{4} << 20;
inline constexpr size_t kMaxOperations = 120;
inline constexpr size_t kMostFound = 500;

// A key with its value. Keys and values are UTF-8 without control characters.
struct KeyValue {
  std::string key;
  std::string value = {};
  int64_t created = 0;   // revision of the store at which the key was made
  int64_t modified = 0;  // revision of its last change
  int64_t lease = 0;     // the store removes the key when this lease ends; 0: never
  bool operator==(const KeyValue&) const = default;
};

// What must be true of a key for a transaction to be carried out.
struct Compare {
  enum class What { kCreated, kModified, kExists, kNoneBelow, kNoneSince, kSince };
  // Of kNoneBelow: a prefix, below which there must be no key. Of kNoneSince: a prefix, below which
  // no key was made or changed after REVISION; one that was removed is not noticed. Of kSince: a
  // key that exists, and was made or changed at REVISION or later.
  std::string key;
  What what = What::kCreated;
  int64_t revision = 0;  // of kCreated and kModified: 0: the key is absent
  bool operator==(const Compare&) const = default;
};

// Returns whether the key of such a compare is a prefix.
[[nodiscard]] constexpr bool is_of_prefix(Compare::What what) {
  return what == Compare::What::kNoneBelow || what == Compare::What::kNoneSince;
}

struct Put {
  std::string key;
  std::string value;
  int64_t lease = 0;  // 0: none
  bool operator==(const Put&) const = default;
};

// Puts and deletes that are carried out together if all compares hold, or not at all. No key is put
// or deleted twice.
struct Txn {
  std::vector<Compare> compares = {};
  std::vector<Put> puts = {};
  std::vector<std::string> deletes = {};
  bool operator==(const Txn&) const = default;
};

struct TxnResult {
  bool done = false;
  int64_t revision = 0;  // of the store, after the transaction
  // If it was not done: those of the compared keys that exist, of each prefix kMostFound at most.
  std::vector<KeyValue> found = {};
  bool operator==(const TxnResult&) const = default;
};

// The keys below a prefix, in order of their bytes, all at one revision.
struct Listing {
  int64_t revision = 0;
  std::vector<KeyValue> keys = {};
  bool operator==(const Listing&) const = default;
};

struct Change {
  KeyValue key;  // of a deleted key: its name and the revision of the deletion
  bool deleted = false;
  bool operator==(const Change&) const = default;
};

// The changes below a prefix, in order. None: none came in time.
struct Changes {
  int64_t next = 0;  // where to go on waiting
  std::vector<Change> all = {};
  bool operator==(const Changes&) const = default;
};

struct Lease {
  int64_t id = 0;
  uint32_t ttl_s = 0;  // seconds, as the store granted them
  bool operator==(const Lease&) const = default;
};

// A server of the store.
struct Member {
  std::string address;
  std::string version = {};
  bool leads = false;
  std::string trouble = {};  // why it is of no use now; empty: nothing
  bool operator==(const Member&) const = default;
};

// Returns the first key that is not below PREFIX: the end of its range. PREFIX ends in a character
// of ASCII.
[[nodiscard]] inline std::string end_of(std::string prefix) {
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

}  // namespace hook::fleet
