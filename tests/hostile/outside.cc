// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/outside.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "base/text.h"

namespace hostile {
namespace {

namespace fs = std::filesystem;
using base::str;

std::string facts_of(const fs::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return "gone";
  std::string facts = str(found.st_mode, " ", found.st_uid, " ", found.st_gid, " ", found.st_ino,
                          " ", found.st_size, " ", found.st_mtim.tv_sec, ".", found.st_mtim.tv_nsec,
                          " ", found.st_ctim.tv_sec, ".", found.st_ctim.tv_nsec);
  if (!S_ISREG(found.st_mode)) return facts;
  std::ifstream file(path);
  return facts + std::string(std::istreambuf_iterator<char>(file), {});
}

// The start of facts_of().
struct Facts {
  explicit Facts(const std::string& text) {
    std::istringstream(text) >> mode >> uid >> gid >> inode >> size;
  }
  [[nodiscard]] bool same_node(const Facts& other) const {
    return mode == other.mode && uid == other.uid && gid == other.gid && inode == other.inode;
  }
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  ino_t inode = 0;
  off_t size = 0;
};

// What runc and crun make in each /dev.
bool is_default_device(const std::string& name) {
  static const std::set<std::string> kNames{
      "core",   "console", "fd",     "full",  "mqueue", "null", "ptmx",    "pts",
      "random", "shm",     "stderr", "stdin", "stdout", "tty",  "urandom", "zero"};
  return kNames.contains(name);
}

}  // namespace

void make_outside(const std::string& directory) {
  for (const char* name : {"ipu", "ipuof.conf.d", "infiniband"})
    fs::create_directories(str(directory, "/", name));
  for (const char* name :
       {"lease.json", "ipuof.conf", "ipu/lease.json", "ipuof.conf.d/ipuof.conf", "ipu0"}) {
    std::ofstream(str(directory, "/", name)) << "the host's";
  }
}

Snapshot look_at(const std::string& directory) {
  Snapshot found{{directory, facts_of(directory)}};
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    found[entry.path()] = facts_of(entry.path());
  return found;
}

Snapshot names_in(const std::string& directory) {
  Snapshot found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    struct stat status {};
    if (::lstat(entry.path().c_str(), &status) != 0) continue;
    const off_t size = S_ISREG(status.st_mode) ? status.st_size : 0;
    found[entry.path()] =
        str(status.st_mode, " ", status.st_uid, " ", status.st_gid, " ", status.st_ino, " ", size);
  }
  return found;
}

std::string differences(const Snapshot& before, const Snapshot& after) {
  std::string found;
  for (const auto& [path, facts] : before) {
    const auto now = after.find(path);
    if (now == after.end()) {
      found += str(" ", path, " is gone;");
    } else if (now->second != facts) {
      found += str(" ", path, " was ", facts, ", is ", now->second, ";");
    }
  }
  for (const auto& [path, facts] : after) {
    if (!before.contains(path)) found += str(" ", path, " is new;");
  }
  return found;
}

bool is_of_runtime(const Snapshot& before, const Snapshot& after, bool empty_ones) {
  for (const auto& [path, text] : before) {
    const auto now = after.find(path);
    if (now == after.end()) return false;
    const bool directory = S_ISDIR(Facts(text).mode);
    if (directory ? !Facts(text).same_node(Facts(now->second)) : text != now->second) return false;
  }
  return std::all_of(after.begin(), after.end(), [&](const auto& found) {
    const Facts facts(found.second);
    const bool empty = S_ISDIR(facts.mode) || (S_ISREG(facts.mode) && facts.size == 0);
    return before.contains(found.first) || is_default_device(fs::path(found.first).filename()) ||
           (empty_ones && empty);
  });
}

}  // namespace hostile
