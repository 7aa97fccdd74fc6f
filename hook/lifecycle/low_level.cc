// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/low_level.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "hook/config/paths.h"
#include "hook/plain/caller.h"
#include "hook/plain/low_level.h"

namespace hook::lifecycle {

using namespace base::names;

namespace {

bool is_there(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0;
}

// Returns whether PATH, which is there, is the wrapper, a copy of it, or who called this program.
bool is_wrapper(const std::string& path) {
  constexpr size_t kLongest = 64 << 20;
  const std::string wrapper = config::runtime_program();
  struct stat file {};
  struct stat installed {};
  if (::stat(path.c_str(), &file) != 0 || plain::is_caller(file)) return true;
  if (::stat(wrapper.c_str(), &installed) != 0 || file.st_size != installed.st_size) return false;
  const Result<std::string> ours = base::read_plain_file(wrapper, kLongest);
  const Result<std::string> theirs = base::read_plain_file(path, kLongest);
  return ours.ok() && theirs.ok() && ours.value() == theirs.value();
}

}  // namespace

Result<std::string> choose_runtime(const std::vector<std::string>& candidates) {
  for (const std::string& path : candidates) {
    if (!is_there(path)) continue;
    if (is_wrapper(path)) {
      return Error(Code::kDenied,
                   str("low-level runtime '", path,
                       "' is this program itself; name runc or crun in runtime.paths"));
    }
    TRY(plain::check_runtime(path));
    return path;
  }
  return Error(Code::kNotFound, str("none of the low-level runtimes ", base::join(candidates, ", "),
                                    " is installed; install runc or set runtime.paths"));
}

std::vector<std::string> remembered_runtimes(const std::string& run_dir,
                                             const std::string& config_file) {
  const std::string remembered = plain::remembered_runtime(run_dir);
  std::vector<std::string> candidates = {remembered};
  if (remembered.empty()) candidates = config::load_runtimes(config_file);
  for (std::string& path : config::default_runtimes()) {
    const bool has_it = std::find(candidates.begin(), candidates.end(), path) != candidates.end();
    if (!has_it) candidates.push_back(std::move(path));
  }
  return candidates;
}

std::string state_dir_of(const std::string& runtime, const std::string& root,
                         const std::string& container) {
  const bool is_name = !container.empty() && container != "." && container != ".." &&
                       container.find('/') == std::string::npos;
  if (!is_name || (!root.empty() && root[0] != '/')) return "";
  if (!root.empty()) return str(root, "/", container);
  // The default directories for root, from runc(8) and crun(1).
  const std::string program = runtime.substr(runtime.rfind('/') + 1);
  return str(program.starts_with("crun") ? "/run/crun/" : "/run/runc/", container);
}

}  // namespace hook::lifecycle
