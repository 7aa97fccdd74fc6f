// SPDX-License-Identifier: Apache-2.0
#include "base/rlimit.h"

#include <sys/capability.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/fs.h"
#include "base/text.h"

namespace base {
namespace {

// Returns what follows NAME and spaces in its line of TEXT; empty if there is no such line.
std::string value_of(const std::string& text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(name)) return std::string(trim(line.substr(name.size())));
  }
  return "";
}

struct FreeCapabilities {
  void operator()(cap_t capabilities) const { (void)cap_free(capabilities); }
};

}  // namespace

Result<uint64_t> highest_memlock() {
  const std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCapabilities> mine(cap_get_proc());
  cap_flag_value_t held = CAP_CLEAR;
  if (mine == nullptr || cap_get_flag(mine.get(), CAP_SYS_RESOURCE, CAP_EFFECTIVE, &held) != 0) {
    return Error::from_errno(errno, "read the capabilities of this process");
  }
  if (held == CAP_SET) return RLIM_INFINITY;
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    return Error::from_errno(errno, "read the limit of locked memory");
  }
  return limit.rlim_max;
}

Result<uint64_t> highest_memlock_of(const std::string& proc, pid_t pid) {
  constexpr size_t kMaxBytes = 64 << 10;
  const std::string folder = str(proc, "/", pid);
  const std::string status = TRY(read_file(folder + "/status", kMaxBytes));
  const std::string capabilities = value_of(status, "CapEff:");
  uint64_t held = 0;
  const auto [end, err] =
      std::from_chars(capabilities.data(), capabilities.data() + capabilities.size(), held, 16);
  if (err != std::errc{})
    return Error(Code::kInternal, str("read ", folder, "/status: there is no CapEff"));
  if ((held >> CAP_SYS_RESOURCE & 1) != 0) return RLIM_INFINITY;
  const std::string limits = TRY(read_file(folder + "/limits", kMaxBytes));
  // "Max locked memory  SOFT  HARD  bytes"
  const std::string line = value_of(limits, "Max locked memory");
  const size_t hard = line.find_first_not_of(' ', line.find(' '));
  const std::string text = line.substr(std::min(hard, line.size()));
  const std::string value = text.substr(0, text.find(' '));
  if (value == "unlimited") return RLIM_INFINITY;
  return parse_int<uint64_t>(value, 0, RLIM_INFINITY);
}

Status set_memlock(pid_t pid, uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  if (::prlimit(pid, RLIMIT_MEMLOCK, &limit, nullptr) == 0) return {};
  return Error::from_errno(errno, "set the limit of locked memory");
}

}  // namespace base
