// SPDX-License-Identifier: Apache-2.0
// The group `ledger`: commands on the database itself.
#include <memory>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"

namespace ipuctl {
namespace {

using namespace base::names;

Result<Outcome> run_dump(const Output& output) {
  hook::ledger::Ledger ledger = TRY(existing_ledger());
  std::string text = TRY(ledger.dump());
  if (output == Output::kJson) return Outcome{std::move(text)};
  const base::Json all = TRY(base::parse_json(text, "the ledger"));
  Rows rows = {{"PART", "ROWS"}};
  for (const auto& [key, part] : all.items()) {
    if (part.is_array()) rows.push_back({key, str(part.size())});
  }
  return Outcome{table(rows)};
}

}  // namespace

void add_ledger_commands(CLI::App& app, Command& chosen) {
  CLI::App& group =
      add_group(app, {"ledger", "Inspect and repair the ledger", "ipuctl ledger check"});
  const auto output = std::make_shared<Output>(Output::kTable);
  const About about{"dump", "Count the rows of the ledger, or print all of it as JSON",
                    "ipuctl ledger dump --output json"};
  add_command(group, about, chosen, [output] { return run_dump(*output); }).output(*output);
  add_ledger_repair(group, chosen);
}

}  // namespace ipuctl
