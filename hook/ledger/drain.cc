// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/drain.h"

#include "base/clock.h"
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

constexpr size_t kMaxReason = 200;

// The name in meta of what says that POOL, or the host, is drained.
std::string name_of(const std::string& pool) {
  return pool.empty() ? "drained" : "drained " + pool;
}

Result<Drained> parse(const std::string& value) {  // "SINCE REASON"
  const size_t space = value.find(' ');
  const int64_t since = TRY_CTX("ledger: meta 'drained'",
                                base::parse_int<int64_t>(value.substr(0, space), 0, INT64_MAX));
  return Drained{since, space == std::string::npos ? "" : value.substr(space + 1)};
}

}  // namespace

std::string Drain::what() const {
  return pool_.empty() ? "the host is drained" : str("pool ", quote(pool_), " is drained here");
}

Status Drain::begin(const std::string& reason) {
  const std::string line = base::one_line(reason, kMaxReason);
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const std::optional<Drained> before = TRY(find());
  if (before && before->reason == line) return {};
  Statement row =
      TRY(store_.database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)"));
  TRY(row.bind(name_of(pool_))
          .bind(str(before ? before->since_ms : store_.now(), " ", line))
          .run());
  TRY(record_note(store_, str(what(), line.empty() ? "" : ": ", line)));
  return commit(store_, transaction);
}

Result<bool> Drain::end() {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  if (!TRY(find())) return false;
  Statement row = TRY(store_.database.prepare("DELETE FROM meta WHERE name = ?"));
  TRY(row.bind(name_of(pool_)).run());
  TRY(record_note(store_, str(what(), " no more")));
  TRY(commit(store_, transaction));
  return true;
}

Result<std::optional<Drained>> Drain::find() {
  Statement row = TRY(store_.database.prepare("SELECT value FROM meta WHERE name = ?"));
  row.bind(name_of(pool_));
  if (TRY(row.step()) == Step::kDone) return std::optional<Drained>();
  return std::optional<Drained>(TRY(parse(row.text(0))));
}

Result<std::vector<std::string>> Drain::pools() {
  std::vector<std::string> pools;
  Statement row = TRY(store_.database.prepare(
      "SELECT substr(name, 9) FROM meta WHERE name LIKE 'drained %' ORDER BY name"));
  while (TRY(row.step()) == Step::kRow) pools.push_back(row.text(0));
  return pools;
}

Status Drain::check() {
  // The host's sorts before those of pools.
  Statement row = TRY(store_.database.prepare(
      "SELECT name, value FROM meta WHERE name IN ('drained', ?) ORDER BY name"));
  row.bind(name_of(pool_));
  if (TRY(row.step()) == Step::kDone) return {};
  const bool is_host = row.text(0) == name_of("");
  const Drained drained = TRY(parse(row.text(1)));
  const std::string reason = drained.reason.empty() ? "" : str(" (", drained.reason, ")");
  const std::string since = str(base::rfc3339(drained.since_ms), reason);
  if (is_host) {
    return Error(Code::kDenied, str("this host is drained since ", since,
                                    ", so no container gets IPUs here; an administrator ends",
                                    " this with 'ipuctl drain --end'"));
  }
  return Error(Code::kDenied,
               str("pool ", quote(pool_), " is drained on this host since ", since,
                   ", so no container gets its IPUs here; choose another pool with IPU_POOL, or"
                   " wait until an administrator ends this with 'ipuctl pool drain ",
                   pool_, " --end'"));
}

}  // namespace hook::ledger
