// SPDX-License-Identifier: Apache-2.0
// What the plugin does in a task, as root, before Slurm makes it its user's. In one file with its
// code: a site builds the plugin alone.
#pragma once

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include <slurm/spank.h>
}

namespace spank {

// linux/mount.h, which does not go together with sys/mount.h of older C libraries.
inline constexpr unsigned kOpenTreeClone = 1;
inline constexpr unsigned kMoveMountFromDescriptor = 4;

// Says why WHAT was not possible WHERE, by errno.
inline bool failed(const char* what, const std::string& where) {
  std::fprintf(stderr, "ipu: %s %s: %s\n", what, where.c_str(), std::strerror(errno));
  return false;
}

// Returns the words of an order, which tabs separate.
inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c == '\t')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

// A task: what it does before its program, as root, by the orders of ipu-slurm (job/orders.h).
class Task {
 public:
  explicit Task(spank_t spank) : spank_(spank) {}

  bool obey(const std::string& line) {
    const std::vector<std::string> words = words_of(line);
    const std::string& order = words[0];
    if (order == "network" && words.size() == 3) return enter_network(words[1], words[2]);
    if (order == "sysfs" && words.size() == 1) return own_mounts() && mount_sysfs();
    if (order == "env" && words.size() == 2) return set(words[1]);
    if (order == "unset" && words.size() == 2) return unset(words[1]);
    if (order == "drop" && words.size() == 2) return drop(words[1]);
    const bool is_bind = order == "bind" || order == "rbind" || order == "read";
    if (is_bind && words.size() == 3) return own_mounts() && bind(order, words[1], words[2]);
    std::fprintf(stderr,
                 "ipu: ipu-slurm gave an order that this plugin does not know: install"
                 " the plugin and ipu-slurm of the same release\n");
    return false;
  }

 private:
  static bool enter_network(const std::string& pid, const std::string& inode) {
    const std::string path = "/proc/" + pid + "/ns/net";
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (fd < 0 || ::fstat(fd, &facts) != 0) return failed("open", path);
    const bool is_it = std::to_string(facts.st_ino) == inode;
    if (!is_it) errno = ESTALE;
    const bool entered = is_it && ::setns(fd, CLONE_NEWNET) == 0;
    if (!entered) failed("enter", path);
    ::close(fd);
    return entered;
  }

  // Mounts of the host still come in, and nothing goes out.
  bool own_mounts() {
    if (has_mounts_) return true;
    if (::unshare(CLONE_NEWNS) != 0) return failed("make", "a mount namespace");
    if (::mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
      return failed("separate from the host", "the mounts of the task");
    has_mounts_ = true;
    return true;
  }

  static bool mount_sysfs() {
    const char* const cgroups = "/sys/fs/cgroup";
    const long kept =
        ::syscall(SYS_open_tree, AT_FDCWD, cgroups, kOpenTreeClone | O_CLOEXEC | AT_RECURSIVE);
    if (kept < 0 && errno != ENOENT && errno != EINVAL) return failed("copy the mount", cgroups);
    if (::mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
      return failed("mount", "/sys");
    if (kept < 0) return true;  // it is no mount
    const bool moved =
        ::syscall(SYS_move_mount, kept, "", AT_FDCWD, cgroups, kMoveMountFromDescriptor) == 0;
    if (!moved) failed("mount", cgroups);
    ::close(static_cast<int>(kept));
    return moved;
  }

  static bool bind(const std::string& how, const std::string& from, const std::string& to) {
    const unsigned long deep = how == "rbind" ? MS_REC : 0;
    if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | deep, nullptr) != 0)
      return failed("mount", to);
    const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (how == "read" && ::mount("", to.c_str(), nullptr, flags, nullptr) != 0)
      return failed("protect", to);
    return true;
  }

  static bool drop(const std::string& number) {
    const unsigned long capability = std::strtoul(number.c_str(), nullptr, 10);
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
      return failed("drop capability", number);
    // A session of PAM may have made it inheritable.
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    if (capability >= 64 || ::syscall(SYS_capget, &header, data) != 0)
      return failed("drop capability", number);
    data[capability / 32].inheritable &= ~(1U << (capability % 32));
    (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, capability, 0, 0);
    return ::syscall(SYS_capset, &header, data) == 0 || failed("drop capability", number);
  }

  bool set(const std::string& variable) {
    const size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : variable.substr(equals + 1);
    return spank_setenv(spank_, name.c_str(), value.c_str(), 1) == ESPANK_SUCCESS;
  }

  bool unset(const std::string& pattern) {
    const bool is_prefix = pattern.ends_with('*');
    const std::string begin = is_prefix ? pattern.substr(0, pattern.size() - 1) : pattern + "=";
    char** environment = nullptr;
    if (spank_get_item(spank_, S_JOB_ENV, &environment) != ESPANK_SUCCESS) return false;
    std::vector<std::string> names;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
      const std::string_view variable = *environment;
      if (variable.starts_with(begin)) names.emplace_back(variable.substr(0, variable.find('=')));
    }
    for (const std::string& name : names) (void)spank_unsetenv(spank_, name.c_str());
    return true;
  }

  spank_t spank_;
  bool has_mounts_ = false;
};

// Returns whether the task's standard streams are harmless: no folder, and no device but a
// pseudo-terminal, /dev/tty or a memory device. slurmstepd opened the files that the user named
// where nothing is hidden, and a folder leads to all below it.
inline bool check_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    struct stat facts {};
    if (::fstat(fd, &facts) != 0) continue;  // it is closed
    const unsigned device = major(facts.st_rdev);
    // admin-guide/devices.txt of Linux: 1 has memory devices such as /dev/null, 5:0 is /dev/tty,
    // 5:2 is /dev/ptmx, and 136 to 143 have pseudo-terminals.
    const bool is_harmless = device == 1 || (device >= 136 && device <= 143) ||
                             (device == 5 && minor(facts.st_rdev) != 1);
    if (S_ISREG(facts.st_mode) || S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode) ||
        (S_ISCHR(facts.st_mode) && is_harmless))
      continue;
    std::fprintf(stderr,
                 "ipu: a job with IPUs may not have a folder, or a device other than /dev/null or a"
                 " pseudo-terminal, as --input, --output or --error: name a file\n");
    return false;
  }
  return true;
}

}  // namespace spank
