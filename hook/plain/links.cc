// SPDX-License-Identifier: Apache-2.0
#include "hook/plain/links.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"

namespace hook::plain {
namespace {

using namespace base::names;
using base::ProcessId;

// Returns a link name that contains the process that makes it, so that leftovers of dead processes
// are recognized.
std::string temporary_link(const std::string& link, const ProcessId& maker) {
  return str(link, ".", maker.pid, ".", maker.start_time, ".", maker.pid_namespace);
}

Result<ProcessId> maker_of(const std::string& name) {
  const std::vector<std::string_view> parts = base::split(name, '.');
  if (parts.size() != 4 || (parts[0] != "runtime" && parts[0] != "choice")) {
    return Error(Code::kInvalid, str(base::quote(name), " is not a temporary link"));
  }
  ProcessId maker;
  maker.pid = TRY(base::parse_int<pid_t>(parts[1], 1, INT_MAX));
  maker.start_time = TRY(base::parse_int<uint64_t>(parts[2], 0, UINT64_MAX));
  maker.pid_namespace = TRY(base::parse_int<uint64_t>(parts[3], 0, UINT64_MAX));
  return maker;
}

}  // namespace

std::string read_link(const std::string& run_dir, const std::string& name) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(str(run_dir, "/", name).c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : "";
}

Status replace_link(const std::string& run_dir, const std::string& name,
                    const std::string& target) {
  const std::string link = str(run_dir, "/", name);
  TRY(base::ensure_dir(run_dir, 0711));
  const ProcessId self = TRY(base::current_process());
  const std::string temporary = temporary_link(link, self);
  if (::symlink(target.c_str(), temporary.c_str()) != 0) {
    return Error::from_errno(errno, str("make link '", temporary, "'"));
  }
  if (::rename(temporary.c_str(), link.c_str()) != 0) {
    const int err = errno;
    (void)::unlink(temporary.c_str());
    return Error::from_errno(err, str("replace link '", link, "'"));
  }
  return {};
}

Status remove_half_made_links(const std::string& run_dir) {
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(run_dir, err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    const Result<ProcessId> maker = maker_of(it->path().filename().string());
    if (maker.ok() && !base::is_running(maker.value())) {
      TRY(base::remove_file(it->path().string()));
    }
  }
  if (!err || err == std::errc::no_such_file_or_directory) return {};
  return Error::from_errno(err.value(), str("list ", base::quote(run_dir)));
}

}  // namespace hook::plain
