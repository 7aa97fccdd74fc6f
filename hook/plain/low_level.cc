// SPDX-License-Identifier: Apache-2.0
#include "hook/plain/low_level.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "base/users.h"
#include "base/version.h"
#include "hook/passing/passing.h"
#include "hook/plain/caller.h"
#include "hook/plain/links.h"

namespace hook::plain {
namespace {

using namespace base::names;

constexpr const char* kRuntime = passing::kRuntimeLink + 1;
constexpr const char* kChoice = passing::kChoiceLink + 1;

// The kernel's clock of files stands still for as long: a file may change again without a trace.
constexpr int64_t kTick = 20'000'000;

int64_t nanos(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

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
  if (remembered_runtime(run_dir) == runtime) return {};
  forget_choice(run_dir);
  return replace_link(run_dir, kRuntime, runtime);
}

Status check_runtime(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return Error::from_errno(errno, path);
  if (is_caller(file)) {
    return Error(Code::kDenied,
                 str("low-level runtime '", path,
                     "' is this program itself; name runc or crun in runtime.paths"));
  }
  if (!passing::is_owners_alone(file) || !base::is_root(file.st_uid)) {
    return Error(Code::kDenied,
                 str("low-level runtime '", path,
                     "' must be a regular file that root owns and nobody else can write"));
  }
  return {};
}

std::string state_of(const std::string& config_file) {
  passing::Text text;
  passing::add_state(text, config_file.c_str());
  return std::string(text.view());
}

Status record_choice(const std::string& run_dir, const std::string& config_file,
                     const std::string& state, const std::vector<std::string>& candidates,
                     const std::string& runtime) {
  const bool is_same = state_of(config_file) == state && is_settled(config_file);
  std::vector<std::string> parts = {runtime, is_same ? state : "", base::product_version()};
  for (const std::string& path : candidates) {
    if (path == runtime) break;
    parts.push_back(path);
  }
  const bool is_clear = std::none_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part.empty() || part.find(passing::kSeparator) != std::string::npos;
  });
  const std::string record = base::join(parts, std::string_view(&passing::kSeparator, 1));
  if (!is_clear || record.size() >= PATH_MAX) {
    forget_choice(run_dir);
    return {};
  }
  if (read_link(run_dir, kChoice) == record) return {};
  return replace_link(run_dir, kChoice, record);
}

void forget_choice(const std::string& run_dir) {
  (void)::unlink(str(run_dir, "/", kChoice).c_str());
}

}  // namespace hook::plain
