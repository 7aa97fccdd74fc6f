// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/watch.h"
#include "hook/config/paths.h"
#include "hook/container/inject/lease_files.h"
#include "hook/lifecycle/env.h"

namespace ipuctl {
namespace {

using namespace base::names;

Result<Output> parse_output(const std::string& text) {
  if (text == "table") return Output::kTable;
  if (text == "json") return Output::kJson;
  return Error(Code::kInvalid,
               str(base::quote(text), " is not an output format; give 'table' or 'json'"));
}

Result<Output> parse_list_output(const std::string& text) {
  if (text == "table") return Output::kTable;
  if (text == "wide") return Output::kWide;
  if (text == "json") return Output::kJson;
  if (text == "yaml") return Output::kYaml;
  if (text == "csv") return Output::kCsv;
  return Error(Code::kInvalid,
               str(base::quote(text),
                   " is not an output format; give 'table', 'wide', 'json', 'yaml' or 'csv'"));
}

constexpr uint32_t kMaxNumber = 65'535;

// Returns the first long one of NAMES, such as "--output" of "-o,--output".
std::string long_name(std::string_view names) {
  for (const std::string_view name : base::split(names, ',')) {
    if (name.starts_with("--")) return std::string(name);
  }
  return std::string(names);
}

// Options of a group that stand before one of its commands would be lost.
void refuse_lost_options(const CLI::App& group) {
  const std::string command = group.get_subcommands().front()->get_name();
  for (const CLI::Option* option : group.get_options()) {
    if (option->count() == 0) continue;
    throw CLI::ValidationError(option->get_name(),
                               str("has no effect before '", command, "'; give it after the word"));
  }
}

Result<hook::ledger::Ledger> or_who_may(Result<hook::ledger::Ledger> ledger) {
  if (ledger.ok() || ::geteuid() == 0) return ledger;
  return Error(ledger.error().code(), str(ledger.error().message(), "; run ipuctl as root"));
}

}  // namespace

void Options::output(Output& target) {
  parsed({"-o,--output", "table|json", "Print a table for people (default) or JSON for programs"},
         [&target](const std::string& text) -> Status {
           target = TRY(parse_output(text));
           return {};
         });
}

void Options::list_output(Output& target) {
  parsed({"-o,--output", "table|wide|json|yaml|csv",
          "Print a table for people (default), one with more columns, or a list for programs"},
         [&target](const std::string& text) -> Status {
           target = TRY(parse_list_output(text));
           return {};
         });
}

void Options::watch() {
  const auto check = [](const std::string& text) {
    const auto time = parse_watch(text);
    return time.ok() ? std::string() : time.error().message();
  };
  app_.add_option("--watch", "Show the list again every SECONDS (default: 2) until Ctrl-C")
      ->type_name("SECONDS")
      ->expected(0, 1)
      ->check(check);
}

void Options::pool(std::string& target) {
  text({"--pool", "NAME", "Use this pool (default: the first of the configuration)"}, target);
}

void Options::argument(const char* name, std::string& target, const char* help) {
  app_.add_option(name, target, help)->required()->type_name("");
}

void Options::optional_argument(const char* name, std::string& target, const char* help) {
  app_.add_option(name, target, help)->type_name("");
}

void Options::arguments(const char* name, std::vector<std::string>& target, const char* help) {
  app_.add_option(name, target, help)->type_name("");
}

void Options::flag(const char* names, bool& target, const char* help) {
  app_.add_flag(names, target, help);
}

void Options::text(const Option& option, std::string& target) {
  app_.add_option(option.names, target, option.help)->type_name(option.value);
}

void Options::texts(const Option& option, std::vector<std::string>& target) {
  app_.add_option(option.names, target, option.help)
      ->type_name(option.value)
      ->expected(1)
      ->take_all();
}

void Options::number(const Option& option, uint32_t& target) {
  parsed(option, [&target](const std::string& text) -> Status {
    target = TRY(base::parse_int<uint32_t>(text, 1, kMaxNumber));
    return {};
  });
}

void Options::number(const Option& option, std::optional<uint32_t>& target) {
  parsed(option, [&target](const std::string& text) -> Status {
    target = TRY(base::parse_int<uint32_t>(text, 0, kMaxNumber));
    return {};
  });
}

void Options::duration(const Option& option, std::optional<std::chrono::milliseconds>& target) {
  const std::string help = str(option.help, "; unit ms, s, m, h or d, at most 24h");
  parsed({option.names, option.value, help.c_str()}, [&target](const std::string& text) -> Status {
    target = TRY(base::parse_duration(text));
    return {};
  });
}

void Options::parsed(const Option& option, std::function<Status(const std::string&)> parse) {
  const auto convert = [parse = std::move(parse),
                        name = long_name(option.names)](const std::string& text) {
    const Status parsed = parse(text);
    if (!parsed.ok()) throw CLI::ValidationError(name, parsed.error().message());
  };
  app_.add_option_function<std::string>(option.names, convert, option.help)
      ->type_name(option.value);
}

std::string examples_text(std::string_view examples) {
  const std::vector<std::string_view> lines = base::split(examples, '\n');
  std::string text = lines.size() == 1 ? "Example:" : "Examples:";
  for (const std::string_view line : lines) text += str("\n  ", line);
  return text;
}

CLI::App& add_group(CLI::App& parent, const About& about) {
  CLI::App* group = parent.add_subcommand(about.name, about.help);
  group->require_subcommand(1)->footer(examples_text(about.examples));
  return *group;
}

CLI::App& add_listing_group(CLI::App& parent, const About& about, Command& chosen, Command run) {
  CLI::App* group = parent.add_subcommand(about.name, about.help);
  group->footer(examples_text(about.examples));
  group->require_subcommand(0, 1);
  group->callback([&chosen, group, run = std::move(run)] {
    if (!group->get_subcommands().empty()) return refuse_lost_options(*group);
    chosen = run;
  });
  return *group;
}

Options add_command(CLI::App& parent, const About& about, Command& chosen, Command run) {
  CLI::App* command = parent.add_subcommand(about.name, about.help);
  command->footer(examples_text(about.examples));
  command->callback([&chosen, run = std::move(run)] { chosen = run; });
  return Options(*command);
}

Status check_one_of(bool first, bool second, std::string_view ways) {
  if (first != second) return {};
  return Error(Code::kInvalid, str("give ", ways, first ? ", but not both" : ""));
}

Status check_no_effect(bool is_given, std::string_view option, std::string_view with) {
  if (!is_given) return {};
  return Error(Code::kInvalid,
               str(option, " has no effect with ", with, "; give only one of them"));
}

Result<hook::config::PoolConfig> load_pool(const std::string& name) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  return hook::config::find_pool(config, name);
}

namespace {

// Fails if the ledger's file is gone while containers still have files of their leases: an empty
// ledger would then be a lie. After a boot, these files are gone too.
Status check_not_gone() {
  const std::string file = hook::config::ledger_file();
  const auto leases = hook::inject::list_lease_dirs(hook::config::run_dir());
  std::error_code err;
  if (std::filesystem::exists(file, err) || err) return {};
  if (!leases.ok() || leases.value().empty()) return {};
  return Error(Code::kInternal,
               str("the ledger ", file, " is gone, but ", leases.value().size(),
                   leases.value().size() == 1 ? " lease has" : " leases have", " files in ",
                   hook::config::run_dir(), "; run 'ipuctl ledger rebuild', then 'ipuctl gc'"));
}

}  // namespace

Result<hook::ledger::Ledger> open_ledger() {
  TRY(check_not_gone());
  return or_who_may(
      hook::lifecycle::open_ledger(hook::config::load_host_id(hook::config::config_file())));
}

Result<hook::ledger::Ledger> read_ledger() {
  TRY(check_not_gone());
  return or_who_may(hook::ledger::Ledger::open_copy(hook::config::ledger_file()));
}

Result<hook::ledger::Ledger> view_ledger() {
  TRY(check_not_gone());
  return or_who_may(hook::ledger::Ledger::open_view(hook::config::ledger_file()));
}

Result<hook::ledger::Ledger> existing_ledger() {
  std::error_code err;
  const bool is_there = std::filesystem::exists(hook::config::ledger_file(), err);
  return is_there ? open_ledger() : read_ledger();
}

base::Deadline query_deadline() { return base::Deadline::after(std::chrono::seconds(10)); }

}  // namespace ipuctl
