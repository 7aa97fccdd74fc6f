// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <vector>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/passing/passing.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;

constexpr int kMostAttempts = 10;
constexpr size_t kCookieBytes = 32;

std::string marks_dir(const std::string& run_dir) { return run_dir + passing::kMarksDir; }
std::string dir_of(const std::string& run_dir, uint64_t device, uint64_t inode) {
  return str(marks_dir(run_dir), "/", device, "-", inode);
}
std::string dir_of(const std::string& run_dir, const netns::Identity& identity) {
  return dir_of(run_dir, identity.device, identity.inode);
}

// Returns the names in DIRECTORY; none if it is absent.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator each(directory, failed);
  for (; !failed && each != std::filesystem::directory_iterator(); each.increment(failed)) {
    names.push_back(each->path().filename());
  }
  return names;
}

Status write_mark(const std::string& run_dir, const ledger::Lease& lease) {
  const std::string directory = dir_of(run_dir, lease.netns);
  TRY(base::ensure_dir(marks_dir(run_dir), 0700));
  TRY(base::ensure_dir(directory, 0700));
  // A mark never changes: a lease has one namespace. Nothing that is read is ever empty.
  const std::string mark = str(directory, "/", lease.id);
  const std::string cookie = std::to_string(lease.netns.cookie);
  const Result<std::string> found = base::read_file(mark, kCookieBytes);
  if (found.ok() && found.value() == cookie) return {};
  const base::Fd file =
      TRY(base::open_at(AT_FDCWD, mark, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  return base::write_all(file.get(), cookie, "mark of a namespace");
}

// Removes a mark, and the directories above that are empty then.
Status remove_mark(const std::string& run_dir, const std::string& directory,
                   const std::string& lease_id) {
  TRY(base::remove_file(str(directory, "/", lease_id)));
  if (::rmdir(directory.c_str()) == 0) (void)::rmdir(marks_dir(run_dir).c_str());
  return {};
}

}  // namespace

Status mark_namespace(const std::string& run_dir, const ledger::Lease& lease) {
  for (int attempt = 1;; ++attempt) {
    Status written = write_mark(run_dir, lease);
    // Another process may have removed the directory, which was empty.
    const bool vanished = !written.ok() && written.error().code() == Code::kNotFound;
    if (!vanished || attempt == kMostAttempts) return written;
  }
}

Status unmark_namespace(const std::string& run_dir, const ledger::Lease& lease) {
  return remove_mark(run_dir, dir_of(run_dir, lease.netns), lease.id);
}

Status sweep_marks(Env& env) {
  std::vector<std::pair<std::string, std::string>> marks;
  for (const std::string& name : names_in(marks_dir(env.run_dir))) {
    const std::string directory = str(marks_dir(env.run_dir), "/", name);
    const std::vector<std::string> leases = names_in(directory);
    for (const std::string& lease : leases) marks.emplace_back(directory, lease);
    if (leases.empty()) (void)::rmdir(directory.c_str());
  }
  if (marks.empty()) return {};
  // Read after the marks: a lease that begins meanwhile keeps its own.
  std::set<std::string> live;
  for (const ledger::Lease& lease : TRY(env.ledger.live())) live.insert(lease.id);
  for (const auto& [directory, lease] : marks) {
    if (!live.contains(lease)) TRY(remove_mark(env.run_dir, directory, lease));
  }
  return {};
}

bool is_marked(const std::string& run_dir, const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  const std::string directory = dir_of(run_dir, status.st_dev, status.st_ino);
  const std::vector<std::string> leases = names_in(directory);
  if (leases.empty()) return false;
  const Result<netns::Namespace> found = netns::Namespace::at(path);
  if (!found.ok()) return false;
  const std::string cookie = std::to_string(found.value().identity().cookie);
  return std::any_of(leases.begin(), leases.end(), [&](const std::string& lease) {
    const Result<std::string> text = base::read_file(str(directory, "/", lease), kCookieBytes);
    return text.ok() && text.value() == cookie;
  });
}

}  // namespace hook::lifecycle::network
