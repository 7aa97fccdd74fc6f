// SPDX-License-Identifier: Apache-2.0
#include "hook/container/inject/mount_points.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>

#include "base/fd.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::inject {
namespace {

using namespace base::names;
using base::Fd;

constexpr int kMaxLinks = 40;  // as the kernel

// A directory of the container, as the host sees it before the container exists.
struct Place {
  Fd directory;
  std::string path;  // in the container
  bool read_only = false;
};

// How a walk ends.
enum class Step { kDown, kKnown, kAgain };

bool is_mapped(const std::vector<oci::IdRange>& ranges, uint32_t id) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const oci::IdRange& range) {
    return id >= range.host && id - range.host < range.size;
  });
}

class Walk {
 public:
  Walk(const oci::SpecView& spec, const std::string& bundle, const std::string& destination)
      : spec_(spec), bundle_(bundle), destination_(destination), rest_(destination) {}

  Status run() {
    for (int links = 0; links <= kMaxLinks; ++links) {
      Result<Fd> root = open(spec_.root);
      if (!root.ok()) return {};
      at_ = {std::move(root).take(), "", false};
      if (TRY(descend()) != Step::kAgain) return {};
    }
    return {};
  }

 private:
  // A path of the host, as config.json names it.
  [[nodiscard]] Result<Fd> open(const std::string& path) const {
    return base::open_at(AT_FDCWD, std::filesystem::path(bundle_) / path, O_PATH);
  }

  // Goes down REST_, until what follows is known or a link leads elsewhere.
  Result<Step> descend() {
    const std::string path = rest_;
    const std::vector<std::string_view> names = base::split(path, '/');
    for (size_t i = 1; i < names.size(); ++i) {
      const std::string name(names[i]);
      const Step step = TRY(enter(name));
      if (step == Step::kDown) continue;
      for (size_t k = i + 1; step == Step::kAgain && k < names.size(); ++k) {
        rest_ = str(rest_, "/", names[k]);
      }
      return step;
    }
    return Step::kKnown;
  }

  Result<Step> enter(const std::string& name) {
    const std::string path = str(at_.path, "/", name);
    if (const oci::MountView* const mount = mount_on(path)) return cross(*mount, path);
    struct stat status {};
    if (::fstatat(at_.directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) TRY(check_makable(name));
      return Step::kKnown;
    }
    if (S_ISLNK(status.st_mode)) return follow(name);
    if (!S_ISDIR(status.st_mode)) return refuse(path, "is not a directory; replace it with one");
    Result<Fd> next = base::open_at(at_.directory.get(), name, O_PATH | O_NOFOLLOW);
    if (!next.ok()) return Step::kKnown;
    at_ = {std::move(next).take(), path, at_.read_only};
    return Step::kDown;
  }

  // The mounts on the destination and below give way to ours; of several on a path, the last
  // counts.
  [[nodiscard]] const oci::MountView* mount_on(const std::string& path) const {
    if (path == destination_) return nullptr;
    const auto found = std::find_if(spec_.mounts.rbegin(), spec_.mounts.rend(),
                                    [&](const auto& mount) { return mount.destination == path; });
    return found == spec_.mounts.rend() ? nullptr : &*found;
  }

  // A runtime makes directories in a new file system, such as a tmpfs, also if it is to be
  // read-only in the end.
  Result<Step> cross(const oci::MountView& mount, const std::string& path) {
    if (!mount.is_bind) return Step::kKnown;
    Result<Fd> source = open(mount.source);
    struct stat status {};
    if (!source.ok() || ::fstat(source.value().get(), &status) != 0) return Step::kKnown;
    if (!S_ISDIR(status.st_mode)) {
      return refuse(path, "is a mount of a file; leave the mount out");
    }
    at_ = {std::move(source).take(), path, mount.is_read_only};
    return Step::kDown;
  }

  Result<Step> follow(const std::string& name) {
    char target[PATH_MAX];
    const ssize_t length =
        ::readlinkat(at_.directory.get(), name.c_str(), target, sizeof target - 1);
    if (length <= 0) return Step::kKnown;
    const std::filesystem::path link(std::string(target, static_cast<size_t>(length)));
    const std::filesystem::path from = link.is_absolute() ? "/" : str(at_.path, "/");
    rest_ = (from / link).lexically_normal();
    if (rest_.ends_with('/')) rest_.pop_back();
    return Step::kAgain;
  }

  Status check_makable(const std::string& name) const {
    struct statvfs system {};
    struct stat status {};
    if (::fstatvfs(at_.directory.get(), &system) != 0 ||
        ::fstat(at_.directory.get(), &status) != 0) {
      return {};
    }
    const std::string path = at_.path.empty() ? "/" : at_.path;
    if (at_.read_only || (system.f_flag & ST_RDONLY) != 0) {
      return refuse(path, str("is read-only and has no ", base::quote(name),
                              "; create this directory there, or mount it writable"));
    }
    const bool is_owned = spec_.uids.empty() || (is_mapped(spec_.uids, status.st_uid) &&
                                                 is_mapped(spec_.gids, status.st_gid));
    if (is_owned || (status.st_mode & S_IWOTH) != 0) return {};
    return refuse(path, str("belongs to user ", status.st_uid, ", who is not in the user namespace",
                            " of the container, and has no ", base::quote(name),
                            "; create this directory there, or change the owner"));
  }

  [[nodiscard]] Error refuse(const std::string& path, const std::string& why) const {
    return {Code::kUnsupported, str("cannot mount on ", base::quote(destination_),
                                    " of the container: its ", base::quote(path), " ", why)};
  }

  const oci::SpecView& spec_;
  const std::string bundle_;
  const std::string destination_;
  std::string rest_;
  Place at_;
};

}  // namespace

Status check_mount_point(const oci::SpecView& spec, const std::string& bundle,
                         const std::string& destination) {
  return Walk(spec, bundle, destination).run();
}

}  // namespace hook::inject
