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

Result<std::optional<Drained>> read(sqlite::Database& database) {
  Statement row = TRY(database.prepare("SELECT value FROM meta WHERE name = 'drained'"));
  if (TRY(row.step()) == Step::kDone) return std::optional<Drained>();
  const std::string value = row.text(0);  // "SINCE REASON"
  const size_t space = value.find(' ');
  const int64_t since = TRY_CTX("ledger: meta 'drained'",
                                base::parse_int<int64_t>(value.substr(0, space), 0, INT64_MAX));
  return std::optional<Drained>({since, space == std::string::npos ? "" : value.substr(space + 1)});
}

}  // namespace

Status Drain::begin(const std::string& reason) {
  const std::string line = base::one_line(reason, kMaxReason);
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const std::optional<Drained> before = TRY(read(store_.database));
  if (before && before->reason == line) return {};
  Statement row =
      TRY(store_.database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('drained', ?)"));
  TRY(row.bind(str(before ? before->since_ms : store_.now(), " ", line)).run());
  TRY(record_note(store_, str("the host is drained", line.empty() ? "" : ": ", line)));
  return commit(store_, transaction);
}

Result<bool> Drain::end() {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  if (!TRY(read(store_.database))) return false;
  TRY(store_.database.execute("DELETE FROM meta WHERE name = 'drained'"));
  TRY(record_note(store_, "the host is drained no more"));
  TRY(commit(store_, transaction));
  return true;
}

Result<std::optional<Drained>> Drain::find() { return read(store_.database); }

Status Drain::check() {
  const std::optional<Drained> drained = TRY(read(store_.database));
  if (!drained) return {};
  const std::string reason = drained->reason.empty() ? "" : str(" (", drained->reason, ")");
  return Error(Code::kDenied, str("this host is drained since ", base::rfc3339(drained->since_ms),
                                  reason, ", so no container gets IPUs here; an administrator ends",
                                  " this with 'ipuctl drain --end'"));
}

}  // namespace hook::ledger
