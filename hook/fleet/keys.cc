// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/keys.h"

#include "base/names.h"

namespace hook::fleet {

using namespace base::names;

Error something_else(const std::string& key) {
  return {Code::kInvalid, str("fleet: the store has something else at ", quote(key),
                              ": choose another 'prefix' in [fleet]")};
}

Result<std::optional<KeyValue>> find_key(Store& store, const std::string& key,
                                         const Deadline& deadline) {
  const Listing listing = TRY(store.list(key, deadline));
  for (const KeyValue& one : listing.keys) {
    if (one.key == key) return std::optional<KeyValue>(one);
  }
  return std::optional<KeyValue>();
}

Compare unchanged(const std::string& key, const std::optional<KeyValue>& found) {
  if (!found) return {key, Compare::What::kCreated, 0};
  return {key, Compare::What::kModified, found->modified};
}

}  // namespace hook::fleet
