// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/fences.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
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

}  // namespace hook::ledger
