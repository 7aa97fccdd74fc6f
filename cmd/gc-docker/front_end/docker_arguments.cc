// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/docker_arguments.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace front {
namespace {

using base::str;

// The long options of docker run (up to 28) and podman run (up to 5) that take no value. Sorted.
constexpr std::array<std::string_view, 26> kFlags = {"detach",
                                                     "disable-content-trust",
                                                     "env-host",
                                                     "help",
                                                     "http-proxy",
                                                     "init",
                                                     "interactive",
                                                     "no-healthcheck",
                                                     "no-hostname",
                                                     "no-hosts",
                                                     "oom-kill-disable",
                                                     "passwd",
                                                     "privileged",
                                                     "publish-all",
                                                     "quiet",
                                                     "read-only",
                                                     "read-only-tmpfs",
                                                     "replace",
                                                     "rm",
                                                     "rmi",
                                                     "rootfs",
                                                     "sig-proxy",
                                                     "tls-verify",
                                                     "tty",
                                                     "unsetenv-all",
                                                     "use-api-socket"};
static_assert(std::is_sorted(kFlags.begin(), kFlags.end()));

constexpr std::string_view kShortFlags = "Pdiqt";

// Other names of long options: short options that take a value, and synonyms.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kLongNames = {{
    {"e", "env"},
    {"h", "hostname"},
    {"l", "label"},
    {"m", "memory"},
    {"net", "network"},
    {"p", "publish"},
    {"v", "volume"},
    {"w", "workdir"},
}};

std::string long_name(std::string_view name) {
  for (const auto& [other, full] : kLongNames) {
    if (other == name) return std::string(full);
  }
  return std::string(name);
}

bool is_flag(std::string_view name) {
  return std::binary_search(kFlags.begin(), kFlags.end(), name);
}

// Takes the next word as the option's value.
void take_next(const std::vector<std::string>& words, DockerOption& option) {
  if (option.at + 1 == words.size()) return;
  option.value = words[option.at + 1];
  option.words = 2;
}

DockerOption long_option(const std::vector<std::string>& words, size_t at) {
  const std::string name = words[at].substr(2);
  const size_t equals = name.find('=');
  DockerOption option{long_name(name.substr(0, equals)), "", at};
  if (equals != std::string::npos) {
    option.value = name.substr(equals + 1);
  } else if (!is_flag(option.name)) {
    take_next(words, option);
  }
  return option;
}

// Reads a word such as -it, -e, -eX=Y or -itv. Returns the one option in it that takes a value,
// else the last.
DockerOption short_options(const std::vector<std::string>& words, size_t at) {
  const std::string& word = words[at];
  size_t letter = 1;
  while (letter + 1 < word.size() && kShortFlags.find(word[letter]) != std::string_view::npos &&
         word[letter + 1] != '=') {
    ++letter;
  }
  DockerOption option{long_name(word.substr(letter, 1)), "", at};
  option.flags = word.substr(1, letter - 1);
  option.value = word.substr(letter + 1);
  if (option.value.starts_with('=')) {
    option.value.erase(0, 1);
  } else if (option.value.empty() && kShortFlags.find(word[letter]) == std::string_view::npos) {
    take_next(words, option);
  }
  return option;
}

Variables::value_type as_variable(std::string_view text, const Variables& caller) {
  const size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  if (equals != std::string_view::npos) return {name, std::string(text.substr(equals + 1))};
  const auto set = caller.find(name);
  return {name, set == caller.end() ? std::nullopt : set->second};
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Parses the "SOURCE:TARGET[:OPTIONS]" of --volume.
DockerMount volume(const DockerOption& option) {
  const std::vector<std::string_view> parts = base::split(option.value, ':');
  if (parts.size() == 1) return {"", without_slash(option.value), option};
  return {std::string(parts[0]), without_slash(std::string(parts[1])), option};
}

// Parses the "type=bind,source=SOURCE,target=TARGET" of --mount.
DockerMount mount(const DockerOption& option) {
  DockerMount mount{"", "", option};
  for (const std::string_view field : base::split(option.value, ',')) {
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = field.substr(0, equals);
    const std::string value(field.substr(equals + 1));
    if (key == "source" || key == "src") mount.source = value;
    if (key == "target" || key == "dst" || key == "destination") {
      mount.target = without_slash(value);
    }
  }
  return mount;
}

}  // namespace

DockerArguments read_docker_arguments(std::vector<std::string> words) {
  DockerArguments arguments{std::move(words), {}};
  size_t at = 0;
  while (at < arguments.words.size()) {
    const std::string& word = arguments.words[at];
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    const DockerOption option = word.starts_with("--") ? long_option(arguments.words, at)
                                                       : short_options(arguments.words, at);
    arguments.options.push_back(option);
    at += option.words;
  }
  return arguments;
}

std::vector<std::string> without(const DockerArguments& arguments,
                                 const std::vector<DockerOption>& options) {
  std::vector<std::string> kept;
  for (size_t at = 0; at < arguments.words.size();) {
    const auto dropped = std::find_if(options.begin(), options.end(),
                                      [&](const DockerOption& option) { return option.at == at; });
    if (dropped == options.end()) {
      kept.push_back(arguments.words[at++]);
      continue;
    }
    if (!dropped->flags.empty()) kept.push_back(str("-", dropped->flags));
    at += dropped->words;
  }
  return kept;
}

bool has_option(const DockerArguments& arguments, std::string_view name) {
  return std::any_of(arguments.options.begin(), arguments.options.end(),
                     [&](const DockerOption& option) { return option.name == name; });
}

bool has_flag(const DockerArguments& arguments, std::string_view name, char letter) {
  return std::any_of(arguments.options.begin(), arguments.options.end(),
                     [&](const DockerOption& option) {
                       return option.name == name || option.name == std::string(1, letter) ||
                              option.flags.find(letter) != std::string::npos;
                     });
}

Variables explicit_variables(const DockerArguments& arguments,
                             const std::vector<std::string>& env_files, const Variables& caller) {
  Variables variables;
  for (const std::string& text : env_files) {
    std::string_view lines = text;
    constexpr std::string_view kMark =
        "\xEF\xBB\xBF";  // the byte order mark, which docker removes too
    if (lines.starts_with(kMark)) lines.remove_prefix(kMark.size());
    for (std::string_view line : base::split(lines, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      if (line.empty() || line[0] == '#') continue;
      const Variables::value_type variable = as_variable(line, caller);
      variables.insert_or_assign(variable.first, variable.second);
    }
  }
  for (const DockerOption& option : arguments.options) {
    if (option.name != "env") continue;
    const Variables::value_type variable = as_variable(option.value, caller);
    variables.insert_or_assign(variable.first, variable.second);
  }
  return variables;
}

std::vector<DockerMount> mounts_of(const DockerArguments& arguments) {
  std::vector<DockerMount> mounts;
  for (const DockerOption& option : arguments.options) {
    if (option.name == "volume") mounts.push_back(volume(option));
    if (option.name == "mount") mounts.push_back(mount(option));
  }
  return mounts;
}

}  // namespace front
