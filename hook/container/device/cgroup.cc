// SPDX-License-Identifier: Apache-2.0
#include "hook/container/device/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::device {
namespace {

using namespace base::names;

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxDirectories = 4096;

// A directory below /sys/fs/cgroup where systemd and engines mount a hierarchy, and its name in
// /proc/PID/cgroup. The first match of the list is used: every engine uses it.
struct Hierarchy {
  std::string_view controllers;
  std::string_view directory;
};
constexpr std::array<Hierarchy, 6> kHierarchies = {{{"devices", "/devices"},
                                                    {"memory", "/memory"},
                                                    {"pids", "/pids"},
                                                    {"name=systemd", "/systemd"},
                                                    {"", "/unified"},
                                                    {"", ""}}};

// Returns the path of CONTROLLERS in TEXT, lines of "ID:CONTROLLERS:PATH".
std::optional<std::string_view> path_of(std::string_view text, std::string_view controllers) {
  for (const std::string_view line : base::split(text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    if (line.substr(first + 1, second - first - 1) == controllers) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Returns whether PATH is neither the root nor outside this cgroup namespace.
bool is_usable(std::string_view path) {
  return path.size() > 1 && path[0] == '/' && !path.starts_with("/..");
}

Status visit_one(const std::string& directory, const std::function<Visit(pid_t)>& visit,
                 Visit& last) {
  const Result<std::string> text = base::read_file(str(directory, "/cgroup.procs"), kMaxBytes);
  if (!text.ok()) {
    // It is gone; or it holds only threads, whose processes belong to a cgroup above.
    const int err = text.error().sys_errno();
    if (err == ENOENT || err == ENODEV || err == EOPNOTSUPP) return {};
    return text.error();
  }
  for (const std::string_view line : base::split(text.value(), '\n')) {
    if (line.empty()) continue;
    last = visit(TRY(base::parse_int<pid_t>(line, 0, INT32_MAX)));
    if (last == Visit::kEnough) return {};
  }
  return {};
}

}  // namespace

bool has_rdma_cgroup(const std::string& path) {
  const base::Result<std::string> text = base::read_file(path, kMaxBytes);
  if (!text.ok()) return false;
  for (const std::string_view line : base::split(text.value(), '\n')) {
    // Format: "rdma  HIERARCHY  CGROUPS  ENABLED".
    if (line.starts_with("rdma\t")) return base::trim(line).ends_with("\t1");
  }
  return false;
}

std::string cgroup_of(std::string_view theirs, std::string_view ours,
                      std::string_view controllers) {
  const std::optional<std::string_view> path = path_of(theirs, controllers);
  if (!path || !is_usable(*path) || path == path_of(ours, controllers)) return "";
  return std::string(*path);
}

std::string own_cgroup(std::string_view theirs, std::string_view ours,
                       const std::function<bool(const std::string&)>& is_there) {
  for (const Hierarchy& hierarchy : kHierarchies) {
    const std::string path = cgroup_of(theirs, ours, hierarchy.controllers);
    if (path.empty()) continue;
    std::string directory = str(hierarchy.directory, path);
    if (is_there(directory)) return directory;
  }
  return "";
}

std::string find_cgroup(pid_t pid, const std::string& root) {
  const Result<std::string> theirs = base::read_file(str("/proc/", pid, "/cgroup"), kMaxBytes);
  const Result<std::string> ours = base::read_file("/proc/self/cgroup", kMaxBytes);
  if (!theirs.ok() || !ours.ok()) return "";
  return own_cgroup(theirs.value(), ours.value(), [&](const std::string& directory) {
    struct stat status {};
    return ::stat(str(root, directory, "/cgroup.procs").c_str(), &status) == 0;
  });
}

Status visit_processes(const std::string& directory, const std::function<Visit(pid_t)>& visit) {
  std::vector<std::string> open = {directory};
  Visit last = Visit::kMore;
  for (size_t looked = 0; !open.empty() && last == Visit::kMore; ++looked) {
    if (looked == kMaxDirectories) {
      return Error(Code::kInternal,
                   str("cgroup ", base::quote(directory), " has too many cgroups below it"));
    }
    const std::string current = std::move(open.back());
    open.pop_back();
    TRY(visit_one(current, visit, last));
    std::error_code error;
    for (std::filesystem::directory_iterator at(current, error), end; !error && at != end;
         at.increment(error)) {
      if (at->is_directory(error) && !at->is_symlink(error)) open.push_back(at->path().string());
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return Error::from_errno(error.value(), str("inspect ", base::quote(current)));
    }
  }
  return {};
}

}  // namespace hook::device
