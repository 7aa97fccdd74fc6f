// SPDX-License-Identifier: Apache-2.0
// The settings that bring_up() gives a RoCE interface.
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nl.h"
#include "netns/internal/route_messages.h"

namespace netns {

using namespace base::names;
using nl::Message;

namespace {

struct Setting {
  int number;  // IPV4_DEVCONF_*
  uint32_t value;
};

// The values of `/proc/sys/net/ipv4/conf/IF/`. With several rails on one fabric, the defaults
// answer ARP on the wrong port. arp_ignore is 1, not 2: 2 answers only senders in the address's own
// subnet, and a /32 has none. Without forwarding there is no proxy ARP either.
constexpr std::array kSettings{
    Setting{IPV4_DEVCONF_ARP_IGNORE, 1},
    Setting{IPV4_DEVCONF_ARP_ANNOUNCE, 2},
    Setting{IPV4_DEVCONF_ARP_NOTIFY, 1},  // announces an address that is there when the link goes
                                          // up
    Setting{IPV4_DEVCONF_RP_FILTER, 2},
    Setting{IPV4_DEVCONF_ACCEPT_REDIRECTS, 0},
    Setting{IPV4_DEVCONF_SEND_REDIRECTS, 0},
    Setting{IPV4_DEVCONF_ACCEPT_SOURCE_ROUTE, 0},
    Setting{IPV4_DEVCONF_FORWARDING, 0},
};

}  // namespace

Message settings_message(const Link& link, const std::string& name) {
  Message message = link_message(RTM_SETLINK, link.index, str("set up link ", quote(name)));
  // Before Linux 6.0, a link that is up cannot be renamed, not even to its own name.
  if (link.name != name) message.put_text(IFLA_IFNAME, name);
  message.nest(IFLA_AF_SPEC, [&] {
    message.nest(AF_INET, [&] {
      message.nest(IFLA_INET_CONF, [&] {
        for (const Setting& setting : kSettings) message.put_u32(setting.number, setting.value);
      });
    });
  });
  return message;
}

// Makes a separate request, because all of it fails if the link has no IPv6.
Message no_link_local_message(uint32_t index) {
  Message message = link_message(RTM_SETLINK, index, str("set up IPv6 of link ", index));
  message.nest(IFLA_AF_SPEC, [&] {
    message.nest(AF_INET6,
                 [&] { message.put_u8(IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE); });
  });
  // The kernel lacks IPv6, or the link does, because its MTU is below 1280.
  message.tolerate(EAFNOSUPPORT);
  return message;
}

}  // namespace netns
