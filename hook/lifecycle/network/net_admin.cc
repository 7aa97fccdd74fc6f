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

Result<File> owner_of(const netns::Namespace& network) {
  const base::Fd owner(::ioctl(network.fd(), NS_GET_USERNS));
  struct stat status {};
  if (!owner.valid() || ::fstat(owner.get(), &status) != 0) {
    return Error::from_errno(errno, "find the user namespace of the container's network");
  }
  return File{status.st_dev, status.st_ino};
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

// Returns whether CAP_NET_ADMIN is among what the process may use (CapPrm of proc(5)).
bool may_use_net_admin(pid_t pid) {
  constexpr std::string_view kKey = "\nCapPrm:\t";
  const Result<std::string> text = base::read_file(str("/proc/", pid, "/status"), kMaxStatus);
  const size_t at = text.ok() ? text.value().find(kKey) : std::string::npos;
  if (at == std::string::npos) return false;
  const char* const from = text.value().data() + at + kKey.size();
  uint64_t set = 0;
  std::from_chars(from, text.value().data() + text.value().size(), set, 16);
  return (set >> CAP_NET_ADMIN & 1) != 0;
}

}  // namespace

Result<std::optional<pid_t>> find_net_admin(const netns::Namespace& network, pid_t except) {
  const File owner = TRY(owner_of(network));
  const std::optional<File> ours = file_at("/proc/self/ns/user");
  const File wanted{network.identity().device, network.identity().inode};
  for (const pid_t pid : TRY(processes())) {
    if (pid == except || file_at(str("/proc/", pid, "/ns/net")) != wanted) continue;
    const std::optional<File> user = file_at(str("/proc/", pid, "/ns/user"));
    if (user && (*user == owner || user == ours) && may_use_net_admin(pid)) {
      return std::optional(pid);
    }
  }
  return std::optional<pid_t>();
}

}  // namespace hook::lifecycle::network
