// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/dockerd_service.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::engines {
namespace {

using namespace base::names;

constexpr size_t kMaxUnit = 1 << 20;

// Returns the lines of TEXT without comments. Joins a line that ends with a backslash to the next.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (const std::string_view part : base::split(text, '\n')) {
    line += part;
    if (line.ends_with('\\')) {
      line.back() = ' ';
      continue;
    }
    const std::string_view plain = base::trim(line);
    if (!plain.empty() && plain.front() != '#' && plain.front() != ';') lines.emplace_back(plain);
    line.clear();
  }
  return lines;
}

// Returns the words of LINE. Quotes hold a word together, and are not part of it.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (const char c : line) {
    const bool is_blank = c == ' ' || c == '\t';
    if (quote == 0 && is_blank) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      word = word.value_or("");
    } else if (c == quote && quote != 0) {
      quote = 0;
    } else {
      if (!word) word.emplace();
      word->push_back(c);
    }
  }
  if (word) words.push_back(*word);
  return words;
}

struct Service {
  std::string command;
  std::map<std::string, std::string> variables;
};

void set_variable(Service& service, std::string_view assignment) {
  const size_t equal = assignment.find('=');
  if (equal == std::string_view::npos) return;
  const std::vector<std::string> value = words_of(assignment.substr(equal + 1));
  service.variables[std::string(assignment.substr(0, equal))] = base::join(value, " ");
}

void read_unit(const std::string& text, Service& service) {
  constexpr std::string_view kCommand = "ExecStart=";
  constexpr std::string_view kVariables = "Environment=";
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(kCommand)) service.command = line.substr(kCommand.size());
    if (!line.starts_with(kVariables)) continue;
    for (const std::string& word : words_of(line.substr(kVariables.size()))) {
      set_variable(service, word);
    }
  }
}

std::string name_in(std::string_view word) {
  if (word.starts_with("${") && word.ends_with("}")) {
    return std::string(word.substr(2, word.size() - 3));
  }
  return word.starts_with("$") ? std::string(word.substr(1)) : "";
}

// Returns the texts of those files in PATHS that can be read.
std::vector<std::string> texts_of(const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    const Result<std::string> text = base::read_file(path, kMaxUnit);
    if (text.ok()) texts.push_back(text.value());
  }
  return texts;
}

// The folders in which systemd looks for units. A file in one hides the files of the same name in
// later ones.
constexpr std::string_view kUnitFolders[] = {"/etc/systemd/system", "/run/systemd/system",
                                             "/usr/lib/systemd/system", "/lib/systemd/system"};

// Returns the unit's own file, then its drop-ins in the order of their names.
std::vector<std::string> unit_files(const std::string& root) {
  std::map<std::string, std::string> drop_ins;
  std::vector<std::string> files;
  for (const std::string_view folder : kUnitFolders) {
    const std::string unit = str(root, folder, "/docker.service");
    std::error_code err;
    if (files.empty() && std::filesystem::exists(unit, err)) files.push_back(unit);
    for (auto it = std::filesystem::directory_iterator(unit + ".d", err);
         !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
      if (it->path().extension() != ".conf") continue;
      drop_ins.emplace(it->path().filename().string(), it->path().string());
    }
  }
  for (const auto& [name, path] : drop_ins) files.push_back(path);
  return files;
}

}  // namespace

std::vector<std::string> service_args(const std::vector<std::string>& units,
                                      const std::vector<std::string>& environments) {
  Service service{"dockerd $DOCKER_OPTS", {}};
  for (const std::string& text : units) read_unit(text, service);
  for (const std::string& text : environments) {
    for (const std::string& line : lines_of(text)) set_variable(service, line);
  }
  std::vector<std::string> args;
  for (const std::string& word : words_of(service.command)) {
    const std::string name = name_in(word);
    if (name.empty()) {
      args.push_back(word);
    } else if (service.variables.contains(name)) {
      for (std::string& part : words_of(service.variables.at(name))) {
        args.push_back(std::move(part));
      }
    }
  }
  return args;
}

std::vector<std::string> read_dockerd_args(const std::string& root) {
  return service_args(texts_of(unit_files(root)),
                      texts_of({root + "/etc/default/docker", root + "/etc/sysconfig/docker"}));
}

}  // namespace hook::engines
