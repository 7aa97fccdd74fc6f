// SPDX-License-Identifier: Apache-2.0
#include "base/confine_ports.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"

namespace base {
namespace {

// What <linux/landlock.h> has from Linux 6.7 on.
struct Ruleset {
  uint64_t files;
  uint64_t network;
};
struct PortRule {
  uint64_t allowed;
  uint64_t port;
};
constexpr uint64_t kConnectTcp = 1U << 1;
constexpr int kRuleOfPort = 2;
constexpr uint16_t kDns = 53;

Status allow_port(int ruleset, uint16_t port) {
  const PortRule rule{kConnectTcp, port};
  if (::syscall(SYS_landlock_add_rule, ruleset, kRuleOfPort, &rule, 0) == 0) return {};
  return Error::from_errno(errno, str("allow TCP port ", port));
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0,
                                 static_cast<unsigned>(LANDLOCK_CREATE_RULESET_VERSION));
  return version > 0 ? static_cast<int>(version) : 0;
}

Status limit_ports(uint16_t port) {
  if (landlock_version() < kLandlockPorts) return {};
  const Ruleset handled{0, kConnectTcp};
  const Fd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
  if (!ruleset.valid()) return Error::from_errno(errno, "make a Landlock ruleset");
  TRY(allow_port(ruleset.get(), port));
  TRY(allow_port(ruleset.get(), kDns));
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0) return {};
  return Error::from_errno(errno, "enter the Landlock ruleset");
}

}  // namespace base
