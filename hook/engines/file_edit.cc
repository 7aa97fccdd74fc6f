// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/file_edit.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/fs.h"
#include "base/names.h"
#include "base/scope.h"
#include "base/text.h"

namespace hook::engines {
namespace {

using namespace base::names;
using std::filesystem::path;

constexpr size_t kMaxEdited = 4 << 20;
constexpr int kMaxLinks = 40;

std::string backup_of(const std::string& file) { return file + ".before-ipu"; }

// Returns whether only root can replace ENTRY in DIRECTORY.
bool is_roots_alone(const path& directory, const path& entry) {
  struct stat folder {};
  struct stat inside {};
  if (::stat(directory.c_str(), &folder) != 0) return errno == ENOENT;  // root will make it
  if (folder.st_uid != 0) return false;
  if ((folder.st_mode & (S_IWGRP | S_IWOTH)) == 0) return true;
  const bool keeps_owners = (folder.st_mode & S_ISVTX) != 0;
  return keeps_owners && ::lstat((directory / entry).c_str(), &inside) == 0 && inside.st_uid == 0;
}

// The end of a path after all links, and what stands on the way.
struct Target {
  path file = "/";
  path foreign = {};  // a directory on the way that others can write; empty: none
};

Result<Target> follow(const std::string& file) {
  Target target;
  std::error_code err;
  const path start = std::filesystem::absolute(file, err);
  std::vector<path> left;  // the next part last
  const auto push = [&left](const path& parts) {
    const std::vector<path> all(parts.begin(), parts.end());
    left.insert(left.end(), all.rbegin(), all.rend());
  };
  push(start.relative_path());
  for (int links = 0; !left.empty();) {
    const path part = left.back();
    left.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      target.file = target.file.parent_path();
      continue;
    }
    if (target.foreign.empty() && !is_roots_alone(target.file, part)) target.foreign = target.file;
    const path to = std::filesystem::read_symlink(target.file / part, err);
    if (err) {
      target.file /= part;  // no link
      continue;
    }
    if (++links > kMaxLinks) return Error::from_errno(ELOOP, str("open ", base::quote(file)));
    if (to.is_absolute()) target.file = "/";
    push(to.relative_path());
  }
  return target;
}

Result<std::string> target_of(const std::string& file) {
  const Target target = TRY(follow(file));
  // Whoever can write such a directory could replace the file while root changes it.
  if (::geteuid() == 0 && !target.foreign.empty()) {
    return Error(
        Code::kDenied,
        str("change ", base::quote(file), ": users other than root can write the directory ",
            base::quote(target.foreign.string()),
            " on its path; let only root write it, or run this command as its owner, with"
            " --config ",
            file));
  }
  return target.file.string();
}

Status make_directories(const std::string& folder) {
  std::error_code err;
  std::filesystem::create_directories(folder, err);
  if (err) return Error::from_errno(err.value(), str("make ", base::quote(folder)));
  return {};
}

base::FileAttributes attributes_of(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_mode & 07777, status.st_uid, status.st_gid};
}

// Explains why a file that is itself a mount point cannot be replaced. It could only be written in
// place, which is not atomic.
Status explain(Status done, const std::string& file) {
  if (done.ok() || done.error().sys_errno() != EBUSY) return done;
  return Error(Code::kUnsupported,
               str("replace ", base::quote(file),
                   ": it is a mount point; change the source file of that mount instead"));
}

Status put(const FileEdit& edit, const base::FileAttributes& attributes) {
  if (edit.after) return base::write_atomic(edit.path, *edit.after, attributes);
  TRY(base::remove_file(edit.path));
  return {};
}

}  // namespace

Result<FileEdit> read_edit(const std::string& file) {
  FileEdit edit;
  edit.path = TRY(target_of(file));
  edit.before = TRY(base::read_file_if_exists(edit.path, kMaxEdited));
  edit.backup_before = TRY(base::read_file_if_exists(backup_of(edit.path), kMaxEdited));
  return edit;
}

Status apply_edit(const FileEdit& edit) {
  if (edit.before == edit.after) return {};
  const FileText now = TRY(base::read_file_if_exists(edit.path, kMaxEdited));
  if (now != edit.before) {
    return Error(Code::kBusy, str("change ", base::quote(edit.path),
                                  ": another program changed it meanwhile; try again"));
  }
  const base::FileAttributes attributes = attributes_of(edit.path);
  const std::string backup = backup_of(edit.path);
  base::ScopeExit remove_backup([&] { (void)base::remove_file(backup); });
  if (edit.backup_after && !edit.backup_before) {
    TRY(base::write_atomic(backup, *edit.backup_after, attributes));
  } else {
    remove_backup.dismiss();
  }
  if (!edit.before) TRY(make_directories(edit.path.substr(0, edit.path.rfind('/'))));
  TRY(explain(put(edit, attributes), edit.path));
  remove_backup.dismiss();
  if (!edit.backup_after) TRY(base::remove_file(backup));
  return {};
}

}  // namespace hook::engines
