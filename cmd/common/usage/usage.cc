// SPDX-License-Identifier: Apache-2.0
#include "cmd/common/usage/usage.h"

#include <CLI/CLI.hpp>

#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/spelling.h"
#include "base/text.h"

namespace usage {
namespace {

using namespace base::names;

// Returns APP and the commands that were understood, the last one at the end.
std::vector<const CLI::App*> path_of(const CLI::App& app) {
  std::vector<const CLI::App*> path = {&app};
  while (!path.back()->get_subcommands().empty())
    path.push_back(path.back()->get_subcommands().front());
  return path;
}

// Returns the option that comes first in TEXT, an error of CLI11; null if TEXT names none.
const CLI::Option* named_in(const CLI::App& app, std::string_view text) {
  const CLI::Option* found = nullptr;
  size_t at = text.npos;
  for (const CLI::App* part : path_of(app)) {
    for (const CLI::Option* option : part->get_options()) {
      const std::string name = option->get_name();
      const size_t here = text.find(name);
      const bool is_longer = found != nullptr && name.size() > found->get_name().size();
      if (here > at || here == text.npos || (here == at && !is_longer)) continue;
      found = option;
      at = here;
    }
  }
  return found;
}

// Returns the one of NAMES that WORD may be a misspelling of, as a question in brackets; else
// nothing.
std::string meant(const std::string& word, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (base::is_misspelled(word, name)) return str(" (did you mean ", quote(name), "?)");
  return "";
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return str("unknown option ", quote(word), meant(word.substr(0, word.find('=')), names));
}

std::string unknown_text(const CLI::App& command, const std::string& word) {
  if (word.size() > 1 && word.front() == '-') return unknown_option(command, word);
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands(nullptr)) names.push_back(each->get_name());
  if (names.empty()) return str("unexpected argument ", quote(word));
  return str("unknown command ", quote(word), meant(word, names));
}

// Something is missing: an argument, or the command of a group.
std::string missing_text(const CLI::App& app) {
  for (const CLI::Option* option : path_of(app).back()->get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    return str(quote(option->get_name()), " is missing: ", option->get_description());
  }
  return str(quote(command_of(app)), " needs a command");
}

std::string mismatch_text(const CLI::Option& option) {
  const std::string name = quote(option.get_name());
  if (option.count() > 1) return str(name, " is given ", option.count(), " times; give it once");
  if (option.get_items_expected_max() == 0) return str(name, " takes no value");
  return str(name, " needs a value: ", option.get_type_name());
}

std::string conversion_text(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0 || option.count() == 0) return mismatch_text(option);
  return str(option.get_name(), " ", quote(option.results().back()), " is not accepted: give ",
             option.get_type_name());
}

std::string text_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  const CLI::Option* const option = named_in(app, error.what());
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
    case CLI::ExitCodes::RequiredError:
      return unknown.empty() ? missing_text(app) : unknown_text(*path_of(app).back(), unknown[0]);
    case CLI::ExitCodes::ArgumentMismatch:
      return option == nullptr ? error.what() : mismatch_text(*option);
    case CLI::ExitCodes::ConversionError:
      return option == nullptr ? error.what() : conversion_text(*option);
    default:
      return error.what();  // of our own parsers, which name the option
  }
}

}  // namespace

std::string command_of(const CLI::App& app) {
  std::string text;
  for (const CLI::App* part : path_of(app)) text += str(text.empty() ? "" : " ", part->get_name());
  return text;
}

Error error_of(const CLI::App& app, const CLI::ParseError& error) {
  return {Code::kInvalid, str(text_of(app, error), "; see '", command_of(app), " --help'")};
}

}  // namespace usage
