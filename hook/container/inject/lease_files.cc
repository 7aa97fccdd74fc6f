// SPDX-License-Identifier: Apache-2.0
#include "hook/container/inject/lease_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/record.h"

namespace hook::inject {

using namespace base::names;

std::string lease_dir(const std::string& run_dir, const std::string& lease_id) {
  return str(run_dir, "/leases/", lease_id);
}

Status write_lease_files(const std::string& run_dir, const std::string& lease_id,
                         const std::map<std::string, std::string>& files) {
  TRY(base::ensure_dir(run_dir, 0711));
  TRY(base::ensure_dir(str(run_dir, "/leases"), 0711));
  const std::string directory = lease_dir(run_dir, lease_id);
  TRY(base::ensure_dir(directory, 0711));
  for (const auto& [name, content] : files) {
    const size_t folder = name.rfind('/');
    if (folder != std::string::npos) {
      TRY(base::ensure_dir(str(directory, "/", name.substr(0, folder)), 0755));
    }
    TRY(base::write_atomic(str(directory, "/", name), content, {0444, {}, {}}));
  }
  return {};
}

namespace {

constexpr size_t kMaxFile = 4 << 20;

std::string file_path(const std::string& run_dir, const std::string& lease_id,
                      const std::string& name) {
  return str(lease_dir(run_dir, lease_id), "/", name);
}

// Returns the path of a file that exists. Builds before the folders have it beside all others; the
// container sees it by a mount of its own.
std::string existing_path(const std::string& run_dir, const std::string& lease_id,
                          const std::string& name) {
  const std::string path = file_path(run_dir, lease_id, name);
  const std::string older = file_path(run_dir, lease_id, name.substr(name.rfind('/') + 1));
  std::error_code err;
  const bool is_older = !std::filesystem::exists(path, err) && std::filesystem::exists(older, err);
  return is_older ? older : path;
}

// Rewrites a file of which a container has a mount: it would not see a new one. O_NONBLOCK: a lease
// of the container's (F_SETLEASE) must not make this wait.
Status rewrite(const std::string& path, const std::string& content) {
  const base::Fd file = TRY(base::open_at(AT_FDCWD, path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK));
  TRY(base::write_all(file.get(), content, path));
  if (::ftruncate(file.get(), static_cast<off_t>(content.size())) != 0) {
    return base::Error::from_errno(errno, str("truncate ", base::quote(path)));
  }
  return {};
}

}  // namespace

Status put_lease_file(const std::string& run_dir, const std::string& lease_id,
                      const std::string& name, const std::string& content) {
  const std::string path = file_path(run_dir, lease_id, name);
  const std::string existing = existing_path(run_dir, lease_id, name);
  if (existing != path) return rewrite(existing, content);
  return base::write_atomic(path, content, {0444, {}, {}});
}

Result<std::string> read_lease_file(const std::string& run_dir, const std::string& lease_id,
                                    const std::string& name) {
  return base::read_plain_file(existing_path(run_dir, lease_id, name), kMaxFile);
}

Status write_lease_record(const std::string& run_dir, const ledger::Lease& lease) {
  return base::write_atomic(file_path(run_dir, lease.id, kRecordFile), ledger::to_record(lease),
                            {0400, {}, {}});
}

Result<ledger::Lease> read_lease_record(const std::string& run_dir, const std::string& lease_id) {
  const std::string text = TRY(read_lease_file(run_dir, lease_id, kRecordFile));
  ledger::Lease lease =
      TRY_CTX(file_path(run_dir, lease_id, kRecordFile), ledger::parse_record(text));
  if (lease.id == lease_id) return lease;
  return base::Error(base::Code::kInvalid,
                     str(file_path(run_dir, lease_id, kRecordFile), " belongs to another lease"));
}

Result<std::vector<std::string>> list_lease_dirs(const std::string& run_dir) {
  std::vector<std::string> names;
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(str(run_dir, "/leases"), err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    names.push_back(it->path().filename().string());
  }
  if (!err || err == std::errc::no_such_file_or_directory) return names;
  return base::Error::from_errno(err.value(), str("list ", base::quote(str(run_dir, "/leases"))));
}

std::string trace_file(const std::string& run_dir, const std::string& lease_id) {
  return file_path(run_dir, lease_id, "trace");
}

Result<base::Removed> remove_lease_files(const std::string& run_dir, const std::string& lease_id) {
  const std::string directory = lease_dir(run_dir, lease_id);
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(directory, err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    std::error_code unused;
    if (it->symlink_status(unused).type() != std::filesystem::file_type::directory) continue;
    TRY(base::remove_flat_dir(it->path().string()));
  }
  return base::remove_flat_dir(directory);
}

}  // namespace hook::inject
