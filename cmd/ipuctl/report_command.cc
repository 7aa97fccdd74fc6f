// SPDX-License-Identifier: Apache-2.0
// report.
#include <memory>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/fleet.h"
#include "cmd/ipuctl/page/page.h"
#include "cmd/ipuctl/report.h"
#include "cmd/ipuctl/report_now.h"

namespace ipuctl {
namespace {

using namespace base::names;

enum class Format { kTable, kJson, kCsv, kHtml };

struct ReportOptions {
  ReportWish wish;
  bool host = false;
  Format format = Format::kTable;
};

Result<Outcome> run_report(ReportOptions options) {
  if (options.host) options.wish.scope = Scope::kHost;
  // A copy does not know which host it is of.
  hook::ledger::Ledger ledger = TRY(may_be_in_fleet() ? existing_ledger() : read_ledger());
  Outcome outcome;
  const Report report = TRY(make_report(ledger, options.wish, outcome.obstacles));
  if (options.format == Format::kTable) outcome.text = report_table(report);
  if (options.format == Format::kCsv) outcome.text = report_csv(report);
  if (options.format == Format::kJson) outcome.text = base::to_pretty_text(report_json(report));
  if (options.format == Format::kHtml) {
    Now now = TRY(look_now(ledger, options.wish.scope, outcome.obstacles));
    outcome.text = page::to_html(report_page(report, std::move(now), outcome.obstacles));
  }
  return outcome;
}

// Returns a parser that sets TARGET to what a text means.
template <typename Value>
std::function<Status(const std::string&)> one_of(Value& target,
                                                 std::map<std::string, Value> values) {
  return [&target, values = std::move(values)](const std::string& text) -> Status {
    const auto found = values.find(text);
    if (found != values.end()) {
      target = found->second;
      return {};
    }
    std::vector<std::string> names;
    for (const auto& [name, value] : values) names.push_back(name);
    return Error(Code::kInvalid,
                 str(quote(text), " is not accepted; give ", base::join(names, ", ")));
  };
}

}  // namespace

void add_report(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<ReportOptions>();
  Options declared = add_command(
      app,
      {"report", "Sum up what tenants, users, pools or hosts had, waited for, and were refused",
       "ipuctl report\nipuctl report --since 30d --by user --output csv\n"
       "ipuctl report --output html | install -m 600 /dev/stdin /run/ipu-report.html"},
      chosen, [options] { return run_report(*options); });
  declared.text({"--since", "TIME", "From the day that was this time ago (default: 7d)"},
                options->wish.since);
  declared.parsed({"--by", "tenant|user|pool|host", "tenant, user, pool or host (default: tenant)"},
                  one_of<By>(options->wish.by, {{"tenant", By::kTenant},
                                                {"user", By::kUser},
                                                {"pool", By::kPool},
                                                {"host", By::kHost}}));
  declared.flag("--host", options->host, "Of this host alone, not of its fleet");
  declared.parsed({"-o,--output", "table|json|csv|html",
                   "table, json, csv, or html, a page of one file (default: table)"},
                  one_of<Format>(options->format, {{"table", Format::kTable},
                                                   {"json", Format::kJson},
                                                   {"csv", Format::kCsv},
                                                   {"html", Format::kHtml}}));
}

}  // namespace ipuctl
