// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/daemon.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::engines {
namespace {

using namespace base::names;

constexpr size_t kMaxTexts = 1 << 20;

bool has_our_root(const std::string& directory) {
  struct stat theirs {};
  struct stat ours {};
  return ::stat((directory + "/root/").c_str(), &theirs) == 0 && ::stat("/", &ours) == 0 &&
         theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

// Returns the texts of a file in /proc, each of which ends with a zero byte.
std::vector<std::string> read_texts(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kMaxTexts);
  std::vector<std::string> texts;
  if (!text.ok() || text.value().empty()) return texts;
  std::string_view rest = text.value();
  if (rest.back() == '\0') rest.remove_suffix(1);
  for (const std::string_view part : base::split(rest, '\0')) texts.emplace_back(part);
  return texts;
}

std::string variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(str(name, "="))) return entry.substr(name.size() + 1);
  }
  return "";
}

// Finds the directories of a rootless daemon. dockerd too takes ROOTLESSKIT_STATE_DIR as the sign
// that it is rootless.
void find_places(const std::vector<std::string>& environment, Daemon& daemon) {
  if (variable(environment, "ROOTLESSKIT_STATE_DIR").empty()) return;
  daemon.runtime_dir = variable(environment, "XDG_RUNTIME_DIR");
  daemon.config_home = variable(environment, "XDG_CONFIG_HOME");
  if (daemon.config_home.empty()) daemon.config_home = variable(environment, "HOME") + "/.config";
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Returns whether the process with DIRECTORY in /proc is this user's and runs the program NAME.
// Its command line is no proof: any process may call itself dockerd.
bool is_program_of_ours(const std::string& directory, std::string_view name) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  std::error_code err;
  const std::string program = std::filesystem::read_symlink(directory + "/exe", err).string();
  constexpr std::string_view kGone = " (deleted)";  // if an upgrade replaced the program
  std::string_view path = program;
  if (path.ends_with(kGone)) path.remove_suffix(kGone.size());
  return !err && last_name(path) == name;
}

}  // namespace

std::vector<Daemon> find_daemons(const std::string& proc, std::string_view name) {
  std::vector<Daemon> found;
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(proc, err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    const Result<pid_t> pid = base::parse_int<pid_t>(it->path().filename().string(), 1, INT32_MAX);
    if (!pid.ok()) continue;
    Daemon daemon;
    daemon.args = read_texts(it->path() / "cmdline");
    if (daemon.args.empty() || !is_program_of_ours(it->path().string(), name)) continue;
    const Result<base::ProcessId> process = base::identify_process(pid.value());
    if (!process.ok() || !has_our_root(it->path().string())) continue;
    daemon.process = process.value();
    find_places(read_texts(it->path() / "environ"), daemon);
    found.push_back(std::move(daemon));
  }
  return found;
}

std::vector<std::string> option_values(const std::vector<std::string>& args,
                                       std::initializer_list<std::string_view> names) {
  std::vector<std::string> values;
  for (size_t i = 1; i < args.size(); ++i) {
    for (const std::string_view name : names) {
      if (args[i] == name && i + 1 < args.size()) values.push_back(args[i + 1]);
      if (args[i].starts_with(str(name, "="))) values.push_back(args[i].substr(name.size() + 1));
    }
  }
  return values;
}

std::optional<std::string> option_value(const std::vector<std::string>& args,
                                        std::initializer_list<std::string_view> names) {
  const std::vector<std::string> values = option_values(args, names);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

}  // namespace hook::engines
