// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/fences.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

namespace {

constexpr std::string_view kPrefix = "fenced/";  // of the names of its rows in meta

}  // namespace

Status Fences::add(const std::string& host) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement row =
      TRY(store_.database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)"));
  TRY(row.bind(str(kPrefix, host)).bind(str(store_.now())).run());
  TRY(record_note(store_, str("host ", host, " is fenced")));
  return commit(store_, transaction);
}

Result<bool> Fences::remove(const std::string& host) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement row = TRY(store_.database.prepare("DELETE FROM meta WHERE name = ?"));
  TRY(row.bind(str(kPrefix, host)).run());
  if (store_.database.changes() == 0) return false;
  TRY(record_note(store_, str("host ", host, " is forgotten")));
  TRY(commit(store_, transaction));
  return true;
}

Result<std::vector<Fence>> Fences::all() {
  Statement row = TRY(store_.database.prepare(
      "SELECT substr(name, 8), value FROM meta WHERE name GLOB 'fenced/*' ORDER BY name"));
  std::vector<Fence> fences;
  while (TRY(row.step()) == Step::kRow) {
    const int64_t since =
        TRY_CTX("ledger: meta 'fenced'", base::parse_int<int64_t>(row.text(1), 0, INT64_MAX));
    fences.push_back({row.text(0), since});
  }
  return fences;
}

Result<OwnFence> Fences::see_own(int64_t revision, const std::string& by) {
  const std::optional<OwnFence> before = TRY(own());
  if (before && before->revision == revision) return *before;
  const OwnFence now{revision, store_.now(), by};
  const Status recorded = with_reserve(store_, [&]() -> Status {
    Transaction transaction = TRY(Transaction::begin(store_.database));
    Statement row = TRY(
        store_.database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('own_fence', ?)"));
    TRY(row.bind(str(now.revision, ' ', now.seen_ms, ' ', now.by)).run());
    TRY(record_note(store_, str("this host was declared dead", by.empty() ? "" : " by host ", by)));
    return commit(store_, transaction);
  });
  if (!recorded.ok()) return recorded.error();
  return now;
}

Status Fences::end_own() {
  if (!TRY(own())) return {};
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(store_.database.execute("DELETE FROM meta WHERE name = 'own_fence'"));
  TRY(record_note(store_, "this host is declared dead no more"));
  return commit(store_, transaction);
}

Result<std::string> Fences::observed() {
  Statement row = TRY(store_.database.prepare("SELECT value FROM meta WHERE name = 'suspects'"));
  return TRY(row.step()) == Step::kRow ? row.text(0) : std::string();
}

Status Fences::observe(const std::string& text) {
  if (TRY(observed()) == text) return {};
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement row = TRY(
      store_.database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('suspects', ?)"));
  TRY(row.bind(text).run());
  return commit(store_, transaction);
}

Result<std::optional<OwnFence>> Fences::own() {
  Statement row = TRY(store_.database.prepare("SELECT value FROM meta WHERE name = 'own_fence'"));
  if (TRY(row.step()) == Step::kDone) return std::optional<OwnFence>();
  const std::string value = row.text(0);
  const std::vector<std::string_view> parts = base::split(value, ' ');  // "REVISION SEEN_MS BY"
  if (parts.size() != 3) return Error(Code::kInternal, "ledger: meta 'own_fence' is not valid");
  OwnFence fence;
  fence.revision =
      TRY_CTX("ledger: meta 'own_fence'", base::parse_int<int64_t>(parts[0], 0, INT64_MAX));
  fence.seen_ms =
      TRY_CTX("ledger: meta 'own_fence'", base::parse_int<int64_t>(parts[1], 0, INT64_MAX));
  fence.by = parts[2];
  return std::optional<OwnFence>(std::move(fence));
}

}  // namespace hook::ledger
