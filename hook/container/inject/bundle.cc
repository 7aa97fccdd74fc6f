// SPDX-License-Identifier: Apache-2.0
#include "hook/container/inject/bundle.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/names.h"
#include "base/text.h"

namespace hook::inject {

using namespace base::names;

Result<Bundle> Bundle::open(const std::string& directory, const std::string& config_name) {
  Bundle bundle;
  const std::string path = directory.empty() ? "." : directory;
  const base::Fd root = TRY(base::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY));
  const size_t name = config_name.rfind('/') + 1;  // 0 without a folder
  const std::string folder = name == 0 ? "." : config_name.substr(0, name);
  const int from = config_name == "config.json" ? root.get() : AT_FDCWD;
  bundle.directory_ = TRY(base::open_at(from, folder, O_RDONLY | O_DIRECTORY));
  std::error_code err;
  bundle.path_ = std::filesystem::absolute(path, err).lexically_normal().string();
  bundle.config_name_ = config_name.substr(name);
  // O_NONBLOCK, because it may be a FIFO.
  const base::Fd file =
      TRY(base::open_at(bundle.directory_.get(), bundle.config_name_, O_RDONLY | O_NONBLOCK));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return Error::from_errno(errno, str("stat '", config_name, "'"));
  }
  if (!S_ISREG(status.st_mode)) {
    return Error(Code::kInvalid, str("configuration '", config_name, "' is not a regular file"));
  }
  bundle.attributes_ = {status.st_mode & 07777, status.st_uid, status.st_gid,
                        base::selinux_label(file.get())};
  bundle.config_ = TRY(base::read_all(file.get(), kMaxBundleConfig, config_name));
  return bundle;
}

Status Bundle::replace_config(const std::string& text) {
  TRY_CTX(str("bundle '", path_, "'"),
          base::write_atomic(directory_.get(), config_name_, text, attributes_));
  config_ = text;
  return {};
}

}  // namespace hook::inject
