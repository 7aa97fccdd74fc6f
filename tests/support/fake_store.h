// SPDX-License-Identifier: Apache-2.0
// FakeStore: a fleet's store in memory. Time passes by advance() alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hook/fleet/store.h"

namespace test {

class FakeStore final : public hook::fleet::Store {
 public:
  using Deadline = base::Deadline;
  using KeyValue = hook::fleet::KeyValue;

  base::Result<hook::fleet::TxnResult> commit(const hook::fleet::Txn& txn,
                                              const Deadline&) override {
    hook::fleet::TxnResult result{true, revision_};
    for (const hook::fleet::Compare& one : txn.compares) result.done = result.done && holds(one);
    if (!result.done) {
      for (const hook::fleet::Compare& one : txn.compares) {
        const bool is_prefix = hook::fleet::is_of_prefix(one.what);
        for (const auto& [key, value] : keys_)
          if (is_prefix ? key.starts_with(one.key) : key == one.key) result.found.push_back(value);
      }
      return result;
    }
    for (const hook::fleet::Put& one : txn.puts) {
      if (one.lease != 0 && !leases_.contains(one.lease)) {
        return base::Error(base::Code::kNotFound, "fleet: txn: the lease has ended");
      }
    }
    if (txn.puts.empty() && txn.deletes.empty()) return result;
    ++revision_;
    for (const hook::fleet::Put& one : txn.puts) {
      KeyValue& key = keys_[one.key];
      key = {one.key, one.value, key.created == 0 ? revision_ : key.created, revision_, one.lease};
      changes_.push_back({key, false});
    }
    for (const std::string& key : txn.deletes) remove(key);
    result.revision = revision_;
    return result;
  }

  base::Result<hook::fleet::Listing> list(const std::string& prefix, const Deadline&) override {
    hook::fleet::Listing listing{revision_};
    size_t bytes = 0;
    for (const auto& [key, value] : keys_) {
      if (!key.starts_with(prefix)) continue;
      bytes += key.size() + value.value.size();
      listing.keys.push_back(value);
    }
    if (bytes > hook::fleet::kMaxListing)
      return base::Error(base::Code::kUnsupported, "fleet: list: there is too much");
    return listing;
  }

  base::Result<hook::fleet::Changes> wait(const std::string& prefix, int64_t revision,
                                          const Deadline& deadline) override {
    if (revision < compacted_) {
      return base::Error(base::Code::kNotFound, "fleet: watch: read again");
    }
    hook::fleet::Changes changes{revision};
    for (const hook::fleet::Change& one : changes_) {
      if (one.key.modified < revision || !one.key.key.starts_with(prefix)) continue;
      changes.all.push_back(one);
      changes.next = one.key.modified + 1;
    }
    if (changes.all.empty()) std::this_thread::sleep_for(deadline.left());
    return changes;
  }

  base::Result<hook::fleet::Lease> grant(uint32_t ttl_s, const Deadline&) override {
    const hook::fleet::Lease lease{++last_lease_, ttl_s};
    leases_[lease.id] = {ttl_s, now_ + std::chrono::seconds(ttl_s)};
    return lease;
  }

  base::Result<hook::fleet::Lease> keep(int64_t lease, const Deadline&) override {
    const auto at = leases_.find(lease);
    if (at == leases_.end()) {
      return base::Error(base::Code::kNotFound, "fleet: keep_alive: the lease has ended");
    }
    at->second.end = now_ + std::chrono::seconds(at->second.ttl_s);
    return hook::fleet::Lease{lease, at->second.ttl_s};
  }

  base::Status revoke(int64_t lease, const Deadline&) override {
    end(lease);
    return {};
  }

  base::Result<std::vector<hook::fleet::Member>> members(const Deadline&) override {
    return std::vector<hook::fleet::Member>{{"memory", "1", true}};
  }

  // Lets TIME pass.
  void advance(std::chrono::seconds time) {
    now_ += time;
    std::set<int64_t> over;
    for (const auto& [id, lease] : leases_) {
      if (lease.end <= now_) over.insert(id);
    }
    for (const int64_t id : over) end(id);
  }
  // Forgets what changed before the newest revision.
  void compact() {
    compacted_ = revision_;
    std::erase_if(changes_, [&](const auto& one) { return one.key.modified < compacted_; });
  }

 private:
  struct Time {
    uint32_t ttl_s = 0;
    std::chrono::seconds end{0};
  };
  bool holds(const hook::fleet::Compare& one) const {
    using What = hook::fleet::Compare::What;
    if (one.what == What::kNoneBelow) {
      return std::none_of(keys_.begin(), keys_.end(),
                          [&](const auto& key) { return key.first.starts_with(one.key); });
    }
    if (one.what == What::kNoneSince) {
      return std::none_of(keys_.begin(), keys_.end(), [&](const auto& key) {
        return key.first.starts_with(one.key) && key.second.modified > one.revision;
      });
    }
    const auto at = keys_.find(one.key);
    if (one.what == What::kExists) return at != keys_.end();
    if (one.what == What::kSince) return at != keys_.end() && at->second.modified >= one.revision;
    if (at == keys_.end()) return one.revision == 0;
    return one.revision == (one.what == What::kCreated ? at->second.created : at->second.modified);
  }
  void remove(const std::string& key) {
    if (keys_.erase(key) == 0) return;
    KeyValue gone;
    gone.key = key;
    gone.modified = revision_;
    changes_.push_back({gone, true});
  }
  void end(int64_t lease) {
    if (leases_.erase(lease) == 0) return;
    std::vector<std::string> keys;
    for (const auto& [key, value] : keys_) {
      if (value.lease == lease) keys.push_back(key);
    }
    if (!keys.empty()) ++revision_;
    for (const std::string& key : keys) remove(key);
  }

  std::map<std::string, KeyValue> keys_;
  std::vector<hook::fleet::Change> changes_;
  std::map<int64_t, Time> leases_;
  int64_t revision_ = 1;
  int64_t compacted_ = 0;
  int64_t last_lease_ = 0;
  std::chrono::seconds now_{0};
};

}  // namespace test
