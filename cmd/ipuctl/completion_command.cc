// SPDX-License-Identifier: Apache-2.0
// completion: what a shell completes of ipuctl's command line, from the same tables as --help.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"

namespace ipuctl {
namespace {

using namespace base::names;

// A command or an option. AT is the command that it stands behind: "." for ipuctl, ". partition".
struct Word {
  std::string at;
  std::string name;  // "create", or "--size"; empty: what stands there without an option
  std::string help;  // one line
  std::string
      value;  // of an option: "FILE", "a|b" for one of several words, or another text; empty: none
  bool is_command = false;
};

bool is_placeholder(std::string_view word) {
  return std::none_of(word.begin(), word.end(), [](char c) { return 'a' <= c && c <= 'z'; });
}

// Of "N|none", "none" is a word that may be given.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  if (type == "PATH" || type == "DIR" || type == "FILE") return "FILE";
  std::vector<std::string> words;
  for (const std::string_view word : base::split(type, '|'))
    if (!is_placeholder(word)) words.emplace_back(word);
  if (words.empty()) return "VALUE";
  return words.size() == 1 ? words.front() + "|" : base::join(words, "|");
}

void collect(const CLI::App& app, const std::string& at, std::vector<Word>& words) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(
        {at, command->get_name(), base::one_line(command->get_description(), 100), "", true});
    collect(*command, str(at, ' ', command->get_name()), words);
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() == "FILE") words.push_back({at, "", "", "FILE"});
    const std::string help = base::one_line(option->get_description(), 100);
    for (const std::string& name : option->get_lnames())
      words.push_back({at, "--" + name, help, value_of(*option)});
    for (const std::string& name : option->get_snames())
      words.push_back({at, "-" + name, help, value_of(*option)});
  }
}

// Returns TEXT as one word of bash and zsh.
std::string in_quotes(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + '\'';
}

// Returns lines "OPEN'AT'CLOSE'WORD BETWEEN WORD...'", with each word as SHOW makes it.
template <typename Show>
std::string by_place(const std::vector<Word>& words, const char* open, const char* close,
                     const char* between, Show show) {
  std::map<std::string, std::vector<std::string>> places;
  for (const Word& word : words)
    if (!word.name.empty()) places[word.at].push_back(show(word));
  std::string text;
  for (const auto& [at, shown] : places)
    text += str("    ", open, in_quotes(at), close, in_quotes(base::join(shown, between)), '\n');
  return text;
}

std::string values_of(const std::vector<Word>& words, const char* open, const char* close) {
  std::string text;
  for (const Word& word : words) {
    if (word.value.empty()) continue;
    text += str("    ", open, in_quotes(str(word.at, ' ', word.name)), close, in_quotes(word.value),
                '\n');
  }
  return text;
}

// No word of the command line is expanded twice: it may be a "$(command)" that nobody has run yet.
std::string for_bash(const std::vector<Word>& words) {
  return str(
      "# Completion of ipuctl for bash, made by 'ipuctl completion bash'\n"
      "_ipuctl() {\n"
      "  local -A words=(\n",
      by_place(words, "[", "]=", " ", [](const Word& word) { return word.name; }), "  ) values=(\n",
      values_of(words, "[", "]="),
      "  )\n"
      "  local at=. word i value before= none= now=${COMP_WORDS[COMP_CWORD]}\n"
      "  [ \"$now\" != = ] || now=\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    word=${COMP_WORDS[i]}\n"
      "    [ \"$word\" != = ] || continue\n"
      "    # What an option takes is no command.\n"
      "    [ -n \"${values[$at $before]-}\" ] || [ -z \"${words[$at $word]+is there}\" ] ||\n"
      "      at+=\" $word\"\n"
      "    before=$word\n"
      "  done\n"
      "  value=${values[$at $before]-}\n"
      "  [ -n \"$value\" ] || [[ $now == -* ]] || value=${values[$at $none]-}\n"
      "  COMPREPLY=()\n"
      "  case $value in\n"
      "    '') mapfile -t COMPREPLY < <(compgen -W \"${words[$at]}\" -- \"$now\") ;;\n"
      "    FILE)\n"
      "      compopt -o filenames 2>/dev/null\n"
      "      mapfile -t COMPREPLY < <(compgen -f -- \"$now\")\n"
      "      ;;\n"
      "    *'|'*) mapfile -t COMPREPLY < <(compgen -W \"${value//|/ }\" -- \"$now\") ;;\n"
      "  esac\n"
      "}\n"
      "complete -F _ipuctl ipuctl\n");
}

std::string for_zsh(const std::vector<Word>& words) {
  return str(
      "#compdef ipuctl\n"
      "# Completion of ipuctl for zsh, made by 'ipuctl completion zsh'\n"
      "_ipuctl() {\n"
      "  local -A entries=(\n",
      by_place(words, "", " ", "\n",
               [](const Word& word) { return str(word.name, ':', word.help); }),
      "  ) values=(\n", values_of(words, "", " "),
      "  )\n"
      "  local at=. word value before= none=\n"
      "  local -a list\n"
      "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
      "    # What an option takes is no command.\n"
      "    [[ -z ${values[$at $before]-} ]] && (( ${+entries[$at $word]} )) && at=\"$at $word\"\n"
      "    before=$word\n"
      "  done\n"
      "  value=${values[$at $before]-}\n"
      "  [[ -n $value || ${words[CURRENT]} == -* ]] || value=${values[$at $none]-}\n"
      "  case $value in\n"
      "    ('') list=(\"${(@f)entries[$at]}\"); _describe ipuctl list ;;\n"
      "    (FILE) _files ;;\n"
      "    (*'|'*) compadd -- ${(s:|:)value} ;;\n"
      "  esac\n"
      "}\n"
      "_ipuctl \"$@\"\n");
}

// In fish only a backslash and a quote are special between quotes.
std::string in_quotes_of_fish(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') word += '\\';
    word += c;
  }
  return word + '\'';
}

std::string line_for_fish(const Word& word) {
  if (word.name.empty()) {
    return str("complete -c ipuctl -n ",
               in_quotes_of_fish(str("__ipuctl_at ", in_quotes_of_fish(word.at))), " -F\n");
  }
  std::string line = str("complete -c ipuctl -n ",
                         in_quotes_of_fish(str("__ipuctl_at ", in_quotes_of_fish(word.at))));
  if (word.is_command) {
    line += str(" -a ", word.name);
  } else {
    line += word.name.starts_with("--") ? str(" -l ", word.name.substr(2))
                                        : str(" -s ", word.name.substr(1));
    if (word.value == "FILE") line += " -r -F";
    if (!word.value.empty() && word.value != "FILE") line += " -x";
    std::string values = word.value;
    std::replace(values.begin(), values.end(), '|', ' ');
    if (values != word.value) line += str(" -a ", in_quotes_of_fish(values));
  }
  return str(line, " -d ", in_quotes_of_fish(word.help), '\n');
}

std::string for_fish(const std::vector<Word>& words) {
  std::string commands;
  std::string values;
  std::string lines;
  for (const Word& word : words) {
    if (word.is_command)
      commands += str(" \\\n    ", in_quotes_of_fish(str(word.at, ' ', word.name)));
    if (!word.value.empty() && !word.name.empty())
      values += str(" \\\n    ", in_quotes_of_fish(str(word.at, ' ', word.name)));
    lines += line_for_fish(word);
  }
  return str(
      "# Completion of ipuctl for fish, made by 'ipuctl completion fish'\n"
      "set -g __ipuctl_commands",
      commands, "\nset -g __ipuctl_values", values,
      "\n"
      "function __ipuctl_at\n"
      "    set -l at .\n"
      "    set -l before ''\n"
      "    for word in (commandline -opc)[2..]\n"
      "        # What an option takes is no command.\n"
      "        if not contains -- \"$at $before\" $__ipuctl_values\n"
      "            contains -- \"$at $word\" $__ipuctl_commands; and set at \"$at $word\"\n"
      "        end\n"
      "        set before $word\n"
      "    end\n"
      "    test \"$at\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c ipuctl -f\n",
      lines);
}

Result<Outcome> run_completion(const CLI::App& app, const std::string& shell) {
  std::vector<Word> words;
  collect(app, ".", words);
  if (shell == "bash") return Outcome{for_bash(words)};
  if (shell == "zsh") return Outcome{for_zsh(words)};
  if (shell == "fish") return Outcome{for_fish(words)};
  return Error(Code::kInvalid, str(quote(shell), " is not accepted; give bash, zsh or fish"));
}

}  // namespace

void add_completion(CLI::App& app, Command& chosen) {
  const auto shell = std::make_shared<std::string>();
  Options declared =
      add_command(app,
                  {"completion", "Print what a shell needs to complete ipuctl's command line",
                   "ipuctl completion bash\nipuctl completion zsh\nipuctl completion fish"},
                  chosen, [&app, shell] { return run_completion(app, *shell); });
  declared.argument("SHELL", *shell, "bash, zsh or fish");
}

}  // namespace ipuctl
