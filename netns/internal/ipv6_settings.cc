// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/ipv6_settings.h"

#include <fcntl.h>

#include <array>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/internal/scope.h"

namespace netns::internal {

using namespace base::names;
using base::Fd;

namespace {

struct Setting {
  const char* name;
  const char* value;
};

// IPv6 itself comes last: until then the interface hears nothing.
constexpr std::array
    kSettings{
        Setting{"accept_ra", "0"},        Setting{"autoconf", "0"},
        Setting{"accept_redirects", "0"}, Setting{"forwarding", "0"},
        Setting{"ndisc_notify", "1"},  // announces an address that is there when the link goes up
        Setting{"disable_ipv6", "0"},
    };

}  // namespace

Status enable_ipv6(const Namespace& in, const std::string& interface) {
  for (const Setting& setting : kSettings) {
    const std::string path = str("/proc/sys/net/ipv6/conf/", interface, '/', setting.name);
    const Result<Fd> file = open_setting(in.fd(), path, O_WRONLY);
    if (!file.ok() && file.error().code() == Code::kNotFound) {
      return Error(Code::kUnsupported, str("interface ", quote(interface),
                                           " cannot have an IPv6 address: the kernel has no "
                                           "IPv6, or the MTU of the interface is below 1280"));
    }
    if (!file.ok()) return file.error();
    TRY(base::write_all(file.value().get(), setting.value, path));
  }
  return {};
}

}  // namespace netns::internal
