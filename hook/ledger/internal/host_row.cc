// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/host_row.h"

#include <sstream>

#include "base/text.h"
#include "vipu/made_name.h"

namespace hook::ledger {

using base::Result;
using base::Status;
using base::str;
using sqlite::Statement;
using sqlite::Step;

namespace {

constexpr std::string_view kAbsent = "-";

std::string or_absent(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

Result<std::optional<HostRow>> read_host(sqlite::Database& database) {
  Statement found = TRY(database.prepare("SELECT value FROM meta WHERE name = 'host'"));
  if (TRY(found.step()) == Step::kDone) return std::optional<HostRow>();
  std::istringstream words(found.text(0));
  HostRow row;
  HostWitnesses& host = row.witnesses;
  for (std::string* word :
       {&row.tag, &host.id, &host.machine, &host.board, &host.rnic, &row.boot}) {
    words >> *word;
    if (*word == kAbsent) word->clear();
  }
  if (!words || row.tag.size() != vipu::kHostDigits)
    return base::Error(base::Code::kInternal, "ledger: meta 'host' is not valid");
  return std::optional<HostRow>(std::move(row));
}

Status write_host(sqlite::Database& database, const HostRow& row) {
  const HostWitnesses& host = row.witnesses;
  Statement insert =
      TRY(database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('host', ?)"));
  return insert
      .bind(str(row.tag, " ", or_absent(host.id), " ", or_absent(host.machine), " ",
                or_absent(host.board), " ", or_absent(host.rnic), " ", or_absent(row.boot)))
      .run();
}

}  // namespace hook::ledger
