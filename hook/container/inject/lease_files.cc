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

}  // namespace

Status add_lease_file(const std::string& run_dir, const std::string& lease_id,
                      const std::string& name, const std::string& content) {
  return base::write_atomic(file_path(run_dir, lease_id, name), content, {0444, {}, {}});
}

Result<std::string> read_lease_file(const std::string& run_dir, const std::string& lease_id,
                                    const std::string& name) {
  return base::read_file(file_path(run_dir, lease_id, name), kMaxFile);
}

Status rewrite_lease_file(const std::string& run_dir, const std::string& lease_id,
                          const std::string& name, const std::string& content) {
  const std::string path = file_path(run_dir, lease_id, name);
  const base::Fd file = TRY(base::open_at(AT_FDCWD, path, O_WRONLY | O_NOFOLLOW));
  TRY(base::write_all(file.get(), content, path));
  if (::ftruncate(file.get(), static_cast<off_t>(content.size())) != 0) {
    return base::Error::from_errno(errno, str("truncate ", base::quote(path)));
  }
  return {};
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

Result<base::Removed> remove_lease_files(const std::string& run_dir, const std::string& lease_id) {
  return base::remove_flat_dir(lease_dir(run_dir, lease_id));
}

}  // namespace hook::inject
