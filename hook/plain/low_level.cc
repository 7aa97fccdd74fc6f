// SPDX-License-Identifier: Apache-2.0
#include "hook/plain/low_level.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <string_view>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "base/users.h"
#include "hook/plain/links.h"

namespace hook::plain {
namespace {

using namespace base::names;

constexpr char kSeparator = ':';

constexpr const char* kRuntime = "runtime";
constexpr const char* kChoice = "choice";

// The kernel's clock of files stands still for as long: a file may change again without a trace.
constexpr int64_t kTick = 20'000'000;

int64_t nanos(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// Returns what changes with every change of the file, of its owner and of its mode.
std::string state_of(const std::string& file) {
  struct stat link {};
  struct stat status {};
  if (::lstat(file.c_str(), &link) != 0) return errno == ENOENT ? "absent" : "";
  // A link in a folder of others may point elsewhere at any time.
  if (!S_ISREG(link.st_mode) || ::stat(file.c_str(), &status) != 0) return "";
  return str(status.st_dev, '.', status.st_ino, '.', status.st_size, '.', nanos(status.st_mtim),
             '.', nanos(status.st_ctim));
}

// Returns whether a later change of the file changes its state_of().
bool is_settled(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return errno == ENOENT;
  return nanos(status.st_ctim) + kTick < base::unix_millis() * 1'000'000;
}

}  // namespace

std::string remembered_runtime(const std::string& run_dir) {
  std::string target = read_link(run_dir, kRuntime);
  return target.starts_with('/') ? target : "";
}

Status remember_runtime(const std::string& run_dir, const std::string& runtime) {
  const std::string remembered = remembered_runtime(run_dir);
  std::error_code unused;
  if (!remembered.empty() && std::filesystem::equivalent(remembered, runtime, unused)) return {};
  forget_choice(run_dir);
  return replace_link(run_dir, kRuntime, runtime);
}

Status check_runtime(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return Error::from_errno(errno, path);
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if (!S_ISREG(file.st_mode) || !base::is_root(file.st_uid) || (file.st_mode & kOthersWrite) != 0) {
    return Error(Code::kDenied,
                 str("low-level runtime '", path,
                     "' must be a regular file that root owns and nobody else can write"));
  }
  return {};
}

Status record_choice(const std::string& run_dir, const std::string& config_file,
                     const std::vector<std::string>& candidates, const std::string& runtime) {
  const std::string state = state_of(config_file);
  std::vector<std::string> parts = {runtime, is_settled(config_file) ? state : ""};
  for (const std::string& path : candidates) {
    if (path == runtime) break;
    parts.push_back(path);
  }
  const bool is_clear = std::none_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part.empty() || part.find(kSeparator) != std::string::npos;
  });
  const std::string record = base::join(parts, std::string_view(&kSeparator, 1));
  if (!is_clear || record.size() >= PATH_MAX) {
    forget_choice(run_dir);
    return {};
  }
  if (read_link(run_dir, kChoice) == record) return {};
  return replace_link(run_dir, kChoice, record);
}

std::string settled_runtime(const std::string& run_dir, const std::string& config_file) {
  const std::string record = read_link(run_dir, kChoice);
  const std::vector<std::string_view> parts = base::split(record, kSeparator);
  if (parts.size() < 2 || parts[1] != state_of(config_file)) return "";
  std::string runtime = remembered_runtime(run_dir);
  if (runtime != parts[0]) return "";
  const bool is_first = std::none_of(parts.begin() + 2, parts.end(), [](std::string_view path) {
    return ::access(std::string(path).c_str(), F_OK) == 0;
  });
  return is_first ? runtime : "";
}

void forget_choice(const std::string& run_dir) {
  (void)::unlink(str(run_dir, "/", kChoice).c_str());
}

}  // namespace hook::plain
