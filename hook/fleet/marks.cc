// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/marks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"
#include "hook/fleet/partition_change.h"
#include "hook/fleet/restored.h"
#include "vipu/made_name.h"

namespace hook::fleet {
namespace {

using namespace base::names;

constexpr int kMostTries = 5;  // another process of this host marks, too
constexpr std::string_view kForgotten = "forgotten";
constexpr size_t kMostInOneTxn = 100;  // with the compare of the store's version

std::string marks_prefix(const std::string& prefix) { return prefix + "marks/"; }

std::string own_key(const Fleet& fleet) { return mark_key(fleet.prefix, fleet.mark.host); }

std::string restores_key(const Fleet& fleet) { return marks_prefix(fleet.prefix) + "restores"; }

std::string imports_key(const std::string& prefix) { return marks_prefix(prefix) + "import"; }

// What import_mark() takes for an ID.
bool is_word(std::string_view text) {
  constexpr size_t kDigits = 16;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_behind(const Fleet& fleet, const std::optional<KeyValue>& mark) {
  const int64_t known = fleet.mark.revision;
  return known != 0 && (!mark || mark->modified < known);
}

// The store is changed although it went back.
Fleet without_mark(const Fleet& fleet) {
  Fleet unmarked = fleet;
  unmarked.mark.revision = 0;
  return unmarked;
}

Error gone_back() {
  return {
      Code::kDenied,
      "fleet: etcd has gone back to an older state, of a snapshot or of a copy of its data, so"
      " what seems free may be in use; run 'ipuctl gc' on each host, then 'ipuctl fleet check'"};
}

// What the store has of marks.
struct Seen {
  std::optional<KeyValue> mark;      // of this host
  std::optional<KeyValue> restores;  // absent: 0
  int64_t count = 0;                 // of restores
  std::string import = {};           // what names the last one
  std::set<std::string> hosts = {};  // whose marks are there, but those that are forgotten
};

Result<Seen> read_marks(const Fleet& fleet) {
  Seen seen;
  const Listing listing = TRY(fleet.store.list(marks_prefix(fleet.prefix), fleet.deadline));
  for (const KeyValue& one : listing.keys) {
    if (one.key == own_key(fleet)) seen.mark = one;
    // A word of another form is nobody's, and the ledger could not keep it.
    if (one.key == imports_key(fleet.prefix) && is_word(one.value)) seen.import = one.value;
    const std::string host = one.key.substr(marks_prefix(fleet.prefix).size());
    if (vipu::is_host(host) && one.value != kForgotten) seen.hosts.insert(host);
    if (one.key != restores_key(fleet)) continue;
    seen.restores = one;
    const Result<int64_t> count = base::parse_int<int64_t>(one.value, 0, INT32_MAX);
    if (!count.ok()) return something_else(one.key);
    seen.count = count.value();
  }
  return seen;
}

// Fences are for their own hosts to obey, and ended what these had.
Result<std::vector<std::string>> all_to_ask(const Fleet& fleet, const Seen& seen) {
  std::set<std::string> hosts = seen.hosts;
  hosts.insert(fleet.mark.host);
  for (const char* const below : {"hosts/", "partitions/", "grants/", "restored/"}) {
    const Listing there = TRY(fleet.store.list(fleet.prefix + below, fleet.deadline));
    for (const auto& [host, asked] : hosts_to_ask(fleet.prefix, {}, there)) hosts.insert(host);
  }
  const std::string fences = fence_key(fleet.prefix, "");
  for (const KeyValue& one : TRY(fleet.store.list(fences, fleet.deadline)).keys)
    hosts.erase(one.key.substr(fences.size()));
  return std::vector<std::string>(hosts.begin(), hosts.end());
}

// Makes the puts and deletes of ALL, in as many transactions as necessary.
Status commit_all(const Fleet& fleet, const Txn& all) {
  Txn txn;
  const auto flush = [&]() -> Status {
    if (txn.puts.empty() && txn.deletes.empty()) return {};
    const TxnResult result = TRY(commit_if_known(fleet, std::exchange(txn, {})));
    return result.done ? Status() : Status(import_begun());
  };
  for (const Put& one : all.puts) {
    txn.puts.push_back(one);
    if (txn.puts.size() == kMostInOneTxn) TRY(flush());
  }
  TRY(flush());
  for (const std::string& one : all.deletes) {
    txn.deletes.push_back(one);
    if (txn.deletes.size() == kMostInOneTxn) TRY(flush());
  }
  return flush();
}

Status ask_to_tell(const Fleet& fleet, const std::vector<std::string>& hosts) {
  Txn txn;
  for (const std::string& host : hosts)
    txn.puts.push_back(
        {restored_key(fleet.prefix, host), base::to_text(base::Json{{"host", host}})});
  return commit_all(fleet, txn);
}

Status forget_idle(const Fleet& fleet) {
  Txn txn;
  for (const KeyValue& one : TRY(fleet.store.list(fleet.prefix + "warm/", fleet.deadline)).keys)
    txn.deletes.push_back(one.key);
  return commit_all(fleet, txn);
}

// A container may have had it since.
Status have_all_reset(const Fleet& fleet) {
  std::vector<Error> obstacles;  // 'fleet check' says what cannot be read
  for (const PartitionView& view : TRY(list_partitions(fleet, obstacles))) {
    if (view.dirty) continue;  // so that an attempt without enough time gets further
    const Status changed = change(fleet, view.name, [&](PartitionView& now) -> Result<Txn> {
      now.dirty = true;
      Txn txn;
      txn.puts = {put_of(fleet, now)};
      return txn;
    });
    TRY(if_there(changed));
  }
  return {};
}

// Who has said that the store went back.
enum class Said { kNow, kBefore, kByImport };

// Makes sure that it is said, and that this host is asked to tell. FLEET's mark is old.
Result<Said> say_gone_back(const Fleet& fleet, const Seen& seen) {
  const Fleet unmarked = without_mark(fleet);
  const std::string own = restored_key(fleet.prefix, fleet.mark.host);
  const bool is_asked = TRY(find_key(fleet.store, own, fleet.deadline)).has_value();
  // An import that this host did not know has removed the marks, and done all of this.
  if (is_asked && !seen.mark && seen.import != fleet.mark.import) return Said::kByImport;
  // So has a host, since this one marked the store.
  if (is_asked && seen.count > fleet.mark.restores) return Said::kBefore;
  const std::vector<std::string> hosts = TRY(all_to_ask(unmarked, seen));
  TRY(ask_to_tell(unmarked, hosts));
  TRY(forget_idle(unmarked));
  TRY(have_all_reset(unmarked));
  return Said::kNow;
}

// Returns the mark, unless this host is fenced (it has none then), or others write marks meanwhile.
Result<std::optional<Mark>> put_mark(const Fleet& fleet, const Seen& seen, int64_t count) {
  const std::string fence = fence_key(fleet.prefix, fleet.mark.host);
  Txn txn;
  txn.compares = {unchanged(own_key(fleet), seen.mark),
                  unchanged(restores_key(fleet), seen.restores),
                  {fence, Compare::What::kCreated, 0}};
  txn.puts = {{own_key(fleet), ""}};
  if (count != seen.count) txn.puts.push_back({restores_key(fleet), std::to_string(count)});
  const TxnResult result = TRY(commit_if_known(without_mark(fleet), std::move(txn)));
  if (result.done)
    return std::optional<Mark>(Mark{fleet.mark.host, result.revision, count, seen.import});
  for (const KeyValue& one : result.found)
    if (one.key == fence) return fenced(fleet.mark.host);
  return std::optional<Mark>();
}

}  // namespace

std::string mark_key(const std::string& prefix, const std::string& host) {
  return marks_prefix(prefix) + host;
}

Put import_mark(const std::string& prefix, const std::string& id) {
  return {imports_key(prefix), id};
}

Put forgotten_mark(const std::string& prefix, const std::string& host) {
  return {mark_key(prefix, host), std::string(kForgotten)};
}

void require_mark(const Fleet& fleet, Txn& txn) {
  if (fleet.mark.revision == 0) return;
  txn.compares.push_back({own_key(fleet), Compare::What::kSince, fleet.mark.revision});
}

void require_no_restore(const Fleet& fleet, int64_t revision, Txn& txn) {
  for (const std::string& key : {restores_key(fleet), imports_key(fleet.prefix)})
    txn.compares.push_back({key, Compare::What::kNoneSince, revision});
}

Status check_mark(const Fleet& fleet, const TxnResult& result) {
  if (result.done || fleet.mark.revision == 0) return {};
  for (const KeyValue& one : result.found) {
    if (one.key == own_key(fleet) && one.modified >= fleet.mark.revision) return {};
    // It is said already: see check_told().
    if (one.key.starts_with(restored_prefix(fleet.prefix))) return {};
  }
  return gone_back();
}

Status check_history(const Fleet& fleet) {
  const Seen seen = TRY(read_marks(fleet));
  return is_behind(fleet, seen.mark) ? Status(gone_back()) : Status();
}

Result<Marked> mark_store(const Fleet& fleet) {
  std::optional<Said> said;
  for (int i = 0; i < kMostTries; ++i) {
    const Seen seen = TRY(read_marks(fleet));
    int64_t count = std::max(seen.count, fleet.mark.restores);
    if (is_behind(fleet, seen.mark)) {
      const std::string fence = fence_key(fleet.prefix, fleet.mark.host);
      if (TRY(find_key(fleet.store, fence, fleet.deadline))) return fenced(fleet.mark.host);
      said = TRY(say_gone_back(fleet, seen));
      if (said == Said::kNow && count < INT32_MAX) ++count;
    }
    const std::optional<Mark> mark = TRY(put_mark(fleet, seen, count));
    // Also where the answer to an earlier attempt was lost, or another process of this host did it.
    const bool is_counted = said ? *said != Said::kByImport : seen.count > fleet.mark.restores;
    if (mark) return Marked{*mark, fleet.mark.revision != 0 && is_counted};
  }
  return Error(Code::kBusy, "fleet: the marks in etcd change all the time; try again");
}

}  // namespace hook::fleet
