// SPDX-License-Identifier: Apache-2.0
#include "hook/passing/command_line.h"

#include <optional>

namespace hook::passing {
namespace {

// Names between spaces: a list of texts would have addresses, which a start has to relocate.
//
// Global options with a value in the next word, of runc 1.x, crun 1.x, youki 0.x.
constexpr char kGlobalsWithValue[] =
    " log log-format root criu rootless cgroup-manager log-level l r systemd ";
constexpr char kGlobalSwitches[] =
    " debug systemd-cgroup help h version v V ? usage systemd-log s d q ";
// Known subcommands, to tell an unknown switch from an unknown option with a value.
constexpr char kSubcommands[] =
    " create start run exec kill delete state features list ps pause resume update events "
    "checkpoint"
    " restore spec help h init mounts info completion ";
constexpr char kCreateWithValue[] =
    " bundle b console-socket pidfd-socket pid-file preserve-fds config f image-path work-path"
    " manage-cgroups-mode empty-ns lsm-profile lsm-mount-context ";
// The same of the checkpoint command, of runc 1.x, crun 1.x and youki 0.x.
constexpr char kSaveWithValue[] =
    " image-path work-path parent-path status-fd page-server manage-cgroups-mode empty-ns"
    " network-lock ";
// The same of the exec command.
constexpr char kExecWithValue[] =
    " console-socket cwd env e user u process p pid-file pidfd-socket c process-label apparmor"
    " preserve-fds cap cgroup additional-gids g ";

bool contains(std::string_view names, std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  for (size_t at = names.find(name); at != std::string_view::npos; at = names.find(name, at + 1))
    if (names[at - 1] == ' ' && names[at + name.size()] == ' ') return true;
  return false;
}

struct Option {
  std::string_view name;
  std::optional<std::string_view> value;  // only if given with '='
};

std::optional<Option> as_option(std::string_view word) {
  if (word.size() < 2 || word[0] != '-' || word == "--") return std::nullopt;
  word.remove_prefix(word[1] == '-' ? 2 : 1);
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return Option{word, std::nullopt};
  return Option{word.substr(0, equals), word.substr(equals + 1)};
}

void take_global(CommandLine& line, std::string_view name, std::string_view value) {
  if (name == "log" || name == "l") line.log = value;
  if (name == "log-format") line.log_json = value == "json";
  if (name == "root" || name == "r") line.root = value;
}

// Parses the global options and returns the position of the subcommand.
size_t parse_globals(CommandLine& line, std::span<const std::string_view> args) {
  size_t at = 0;
  for (; at < args.size(); ++at) {
    const std::optional<Option> option = as_option(args[at]);
    if (!option) break;
    if (option->value) {
      take_global(line, option->name, *option->value);
      continue;
    }
    if (contains(kGlobalSwitches, option->name)) continue;
    const bool more = at + 1 < args.size();
    const bool known = contains(kGlobalsWithValue, option->name);
    if (!more || (!known && contains(kSubcommands, args[at + 1]))) continue;
    take_global(line, option->name, args[++at]);
  }
  if (at < args.size() && args[at] == "--") ++at;
  return at;
}

void take_create(CommandLine& line, std::string_view name, std::string_view value) {
  if (name == "bundle" || name == "b") line.bundle = value;
  if (name == "config" || name == "f") line.config_name = value;
}

// Splits crun's short options with their value in the same word, whatever it holds: -bDIR, -fFILE.
std::optional<Option> as_joined(std::string_view word, const Option& option) {
  const bool may_be = word.size() > 2 && (word.starts_with("-b") || word.starts_with("-f"));
  const bool spelled_out = option.name == "bundle" || option.name == "b" || option.name == "f" ||
                           option.name == "file-locks";
  if (!may_be || spelled_out) return std::nullopt;
  return Option{word.substr(1, 1), word.substr(2)};
}

// Options may be on either side of the container's id (argp permutes).
void parse_create(CommandLine& line, std::span<const std::string_view> args, size_t at) {
  for (; at < args.size(); ++at) {
    const std::optional<Option> option = as_option(args[at]);
    if (!option) {
      if (line.container.empty() && args[at] != "--") line.container = args[at];
      continue;
    }
    if (const std::optional<Option> joined = as_joined(args[at], *option)) {
      take_create(line, joined->name, *joined->value);
    } else if (option->value) {
      take_create(line, option->name, *option->value);
    } else if (contains(kCreateWithValue, option->name)) {
      if (at + 1 < args.size()) take_create(line, option->name, args[++at]);
    }
  }
}

void parse_save(CommandLine& line, std::span<const std::string_view> args, size_t at) {
  for (; at < args.size() && line.container.empty(); ++at) {
    const std::optional<Option> option = as_option(args[at]);
    if (!option) {
      if (args[at] != "--") line.container = args[at];
    } else if (!option->value && contains(kSaveWithValue, option->name)) {
      ++at;
    }
  }
}

// What follows the container's id is the process's own.
void parse_exec(CommandLine& line, std::span<const std::string_view> args, size_t at) {
  const auto take = [&](std::string_view value) {
    line.process = value;
    line.process_at = at;
    line.process_prefix = args[at].substr(0, args[at].size() - value.size());
  };
  for (; at < args.size() && line.container.empty(); ++at) {
    const std::optional<Option> option = as_option(args[at]);
    if (!option) {
      if (args[at] != "--") line.container = args[at];
    } else if (option->value) {
      if (option->name == "process" || option->name == "p") take(*option->value);
    } else if (args[at].size() > 2 && args[at].starts_with("-p") && args[at][2] == '/') {
      take(args[at].substr(2));  // crun's short option with its value
    } else if (contains(kExecWithValue, option->name) && at + 1 < args.size()) {
      ++at;
      if (option->name == "process" || option->name == "p") take(args[at]);
    }
  }
}

}  // namespace

CommandLine parse_command_line(std::span<const std::string_view> args) {
  CommandLine line;
  const size_t at = parse_globals(line, args);
  if (at >= args.size()) return line;
  line.subcommand = args[at];
  if (line.creates()) parse_create(line, args, at + 1);
  if (line.saves()) parse_save(line, args, at + 1);
  if (line.subcommand == "exec") parse_exec(line, args, at + 1);
  return line;
}

}  // namespace hook::passing
