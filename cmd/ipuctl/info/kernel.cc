// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/info/kernel.h"

#include <algorithm>
#include <filesystem>

#include "base/fs.h"
#include "base/names.h"

namespace ipuctl::info {
namespace {

using namespace base::names;

constexpr size_t kMaxList = 16 << 20;  // bytes of modules.dep or a kernel's configuration
constexpr size_t kMaxValue = 4096;
constexpr size_t kMaxSays = 200;

// A part of the kernel that may be a module.
struct Part {
  const char* name;
  const char* module;  // "nf_tables"
  const char* option;  // "CONFIG_NF_TABLES"
};

constexpr Part kParts[] = {{"macvlan", "macvlan", "CONFIG_MACVLAN"},
                           {"nftables", "nf_tables", "CONFIG_NF_TABLES"},
                           {"nftables netdev", "nf_tables", "CONFIG_NF_TABLES_NETDEV"},
                           {"rdma", "ib_core", "CONFIG_INFINIBAND"}};

bool is_there(const std::string& path) {
  std::error_code err;
  return std::filesystem::exists(path, err);
}

// Returns the first line of a file; unset if it cannot be read.
std::optional<std::string> value_in(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kMaxValue);
  if (!text.ok()) return std::nullopt;
  return base::one_line(base::trim(text.value()), kMaxSays);
}

// Returns the names in a folder, sorted.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code err;
  for (std::filesystem::directory_iterator at(folder, err), end; !err && at != end;
       at.increment(err)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns what OPTION is in a kernel's configuration: "y", "m", or "" if it is not set.
std::string value_of(std::string_view config, std::string_view option) {
  for (const std::string_view line : base::split(config, '\n')) {
    if (line.size() > option.size() && line.starts_with(option) && line[option.size()] == '=')
      return std::string(line.substr(option.size() + 1));
  }
  return "";
}

// A list of modules has their paths: "kernel/drivers/net/macvlan.ko.xz: ...".
bool lists(const Result<std::string>& list, std::string_view module) {
  if (!list.ok()) return false;
  const std::string_view text = list.value();
  const std::string name = str('/', module, ".ko");
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if (end == text.size() || std::string_view(".:\n").find(text[end]) != std::string_view::npos)
      return true;
  }
  return false;
}

Feature look_at(const Part& part, const std::string& root, const std::string& release) {
  const std::string modules = str(root, "/lib/modules/", release);
  const std::string config = str(root, "/boot/config-", release);
  const Result<std::string> options = base::read_file(config, kMaxList);
  const std::string value = options.ok() ? value_of(options.value(), part.option) : "";
  // Where the configuration is known it decides: an option may be missing in a module that is
  // there.
  if (options.ok() && value.empty()) return {part.name, false, str(part.option, " is not set")};
  if (is_there(str(root, "/sys/module/", part.module)))
    return {part.name, true, str(part.module, " is loaded")};
  if (value == "y") return {part.name, true, "built in"};
  if (lists(base::read_file(modules + "/modules.builtin", kMaxList), part.module))
    return {part.name, true, "built in"};
  const Result<std::string> list = base::read_file(modules + "/modules.dep", kMaxList);
  if (lists(list, part.module))
    return {part.name, true, str(part.module, " is a module, not loaded now")};
  if (list.ok())
    return {part.name, false, str(part.module, " is not among the modules of ", release)};
  if (value == "m")
    return {part.name, std::nullopt,
            str("a module, but /lib/modules/", release, " cannot be read")};
  return {part.name, std::nullopt,
          str("neither /lib/modules/", release, " nor /boot/config-", release, " tells")};
}

Feature look_at_cgroups(const std::string& root) {
  const std::string folder = root + "/sys/fs/cgroup";
  const char* const name = "cgroup";
  if (is_there(folder + "/cgroup.controllers")) return {name, true, "v2"};
  if (is_there(folder + "/unified/cgroup.controllers")) return {name, true, "v1 with v2 (hybrid)"};
  if (is_there(folder + "/devices")) return {name, true, "v1"};
  return {name, false, "nothing is mounted at /sys/fs/cgroup"};
}

Feature look_at_users(const std::string& root) {
  const char* const name = "user namespaces";
  const auto most = value_in(root + "/proc/sys/user/max_user_namespaces");
  if (!most) return {name, false, "the kernel has none"};
  if (*most == "0") return {name, false, "user.max_user_namespaces is 0"};
  const auto unprivileged = value_in(root + "/proc/sys/kernel/unprivileged_userns_clone");
  if (unprivileged == "0") return {name, true, "for root only"};
  return {name, true, str("at most ", *most)};
}

Feature look_at_seccomp(const std::string& root) {
  const auto actions = value_in(root + "/proc/sys/kernel/seccomp/actions_avail");
  if (!actions) return {"seccomp", false, "the kernel has no filters"};
  return {"seccomp", true, *actions};
}

Feature look_at_devices(const std::string& root) {
  const char* const name = "rdma devices";
  const std::vector<std::string> devices = names_in(root + "/sys/class/infiniband");
  if (devices.empty()) return {name, false, "none in /sys/class/infiniband"};
  const bool has_cm = is_there(root + "/sys/class/misc/rdma_cm");
  return {name, true,
          base::one_line(str(base::join(devices, ", "), has_cm ? "" : "; no rdma_cm"), kMaxSays)};
}

Feature look_at_iommu(const std::string& root) {
  const size_t groups = names_in(root + "/sys/kernel/iommu_groups").size();
  if (groups == 0) return {"iommu", false, "no groups"};
  return {"iommu", true, str(groups, " groups")};
}

Feature look_at_lsm(const std::string& root) {
  const auto modules = value_in(root + "/sys/kernel/security/lsm");
  if (!modules)
    return {"security modules", std::nullopt, "securityfs is not mounted, or not readable"};
  return {"security modules", true, *modules};
}

}  // namespace

std::vector<Feature> look_at_kernel(const std::string& root, const std::string& release) {
  std::vector<Feature> features;
  for (const Part& part : kParts) features.push_back(look_at(part, root, release));
  features.push_back(look_at_devices(root));
  features.push_back(look_at_cgroups(root));
  features.push_back(look_at_users(root));
  features.push_back(look_at_seccomp(root));
  features.push_back(look_at_lsm(root));
  features.push_back(look_at_iommu(root));
  return features;
}

}  // namespace ipuctl::info
