// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/net_admin.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;

constexpr size_t kMaxStatus = 64 << 10;

struct File {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const File&) const = default;
};

// Returns the file behind PATH; nothing if it cannot be seen.
std::optional<File> file_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return File{status.st_dev, status.st_ino};
}

// A user namespace, and the user who made it, as this process sees both.
struct UserNamespace {
  File file;
  uint64_t maker = 0;
};

Result<UserNamespace> user_namespace(const base::Fd& at) {
  struct stat status {};
  uid_t maker = 0;
  if (!at.valid() || ::fstat(at.get(), &status) != 0 ||
      ::ioctl(at.get(), NS_GET_OWNER_UID, &maker) != 0) {
    return Error::from_errno(errno, "find the user namespace of the container's network");
  }
  return UserNamespace{{status.st_dev, status.st_ino}, maker};
}

// Returns the user namespace that owns NETWORK, and those above it, up to that of this process.
Result<std::vector<UserNamespace>> owners_of(const netns::Namespace& network) {
  constexpr size_t kDeepest = 64;  // the kernel nests 32
  std::vector<UserNamespace> owners;
  base::Fd at(::ioctl(network.fd(), NS_GET_USERNS));
  owners.push_back(TRY(user_namespace(at)));
  while (owners.size() < kDeepest) {
    // EPERM: what is above is not for this process to see.
    at = base::Fd(::ioctl(at.get(), NS_GET_PARENT));
    if (!at.valid() && errno == EPERM) break;
    owners.push_back(TRY(user_namespace(at)));
  }
  return owners;
}

// Returns the pids in /proc.
Result<std::vector<pid_t>> processes() {
  std::vector<pid_t> pids;
  std::error_code failed;
  std::filesystem::directory_iterator each("/proc", failed);
  for (; !failed && each != std::filesystem::directory_iterator(); each.increment(failed)) {
    const std::string name = each->path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  if (failed) return Error::from_errno(failed.value(), "list the processes in /proc");
  return pids;
}

// Returns the value of KEY in a status file of proc(5); 0 if there is none.
uint64_t value_in(const std::string& status, std::string_view key, int base) {
  const size_t at = status.find(str("\n", key, ":\t"));
  uint64_t value = 0;
  if (at == std::string::npos) return value;
  const char* const from = status.data() + at + key.size() + 3;
  std::from_chars(from, status.data() + status.size(), value, base);
  return value;
}

// Returns whether one of the user ids in STATUS is USER.
bool has_user(const std::string& status, uint64_t user) {
  const size_t at = status.find("\nUid:");
  if (at == std::string::npos) return false;
  const size_t from = at + std::string_view("\nUid:").size();
  const std::string ids = status.substr(from, status.find('\n', from) - from);
  for (const std::string_view id : base::split(ids, '\t')) {
    const Result<uint64_t> number = base::parse_int<uint64_t>(id, 0, UINT32_MAX);
    if (number.ok() && number.value() == user) return true;
  }
  return false;
}

// Returns whether the thread, which is in the LEVELth of OWNERS, may use CAP_NET_ADMIN there, now
// or, unless no_new_privs is set, after it has executed a program of root's. The kernel gives all
// capabilities in a user namespace to its maker, if the maker is in the one above.
bool may_use_net_admin(const std::string& thread, const std::vector<UserNamespace>& owners,
                       size_t level) {
  const Result<std::string> status = base::read_file(thread + "/status", kMaxStatus);
  if (!status.ok()) return false;
  if (level > 0 && has_user(status.value(), owners[level - 1].maker)) return true;
  const bool may_gain = value_in(status.value(), "NoNewPrivs", 10) == 0;
  const uint64_t set = value_in(status.value(), may_gain ? "CapBnd" : "CapPrm", 16);
  return (set >> CAP_NET_ADMIN & 1) != 0;
}

// Returns the threads of a process. Each has capabilities, and may have namespaces, of its own.
std::vector<std::string> threads_of(pid_t pid) {
  std::vector<std::string> threads;
  std::error_code failed;
  std::filesystem::directory_iterator each(str("/proc/", pid, "/task"), failed);
  for (; !failed && each != std::filesystem::directory_iterator(); each.increment(failed)) {
    threads.push_back(each->path());
  }
  return threads;
}

}  // namespace

Result<std::optional<pid_t>> find_net_admin(const netns::Namespace& network, pid_t except) {
  const std::vector<UserNamespace> owners = TRY(owners_of(network));
  const File wanted{network.identity().device, network.identity().inode};
  for (const pid_t pid : TRY(processes())) {
    if (pid == except) continue;
    for (const std::string& thread : threads_of(pid)) {
      if (file_at(thread + "/ns/net") != wanted) continue;
      const std::optional<File> user = file_at(thread + "/ns/user");
      for (size_t level = 0; user && level < owners.size(); ++level) {
        if (owners[level].file == *user && may_use_net_admin(thread, owners, level))
          return std::optional(pid);
      }
    }
  }
  return std::optional<pid_t>();
}

}  // namespace hook::lifecycle::network
