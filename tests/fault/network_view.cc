// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/network_view.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/fd.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace fault {
namespace {

using namespace base::names;
using base::Fd;

using Attributes = std::map<uint16_t, std::string>;

// A socket of the namespace NETNS; the thread is back in its own when this returns.
Result<Fd> open_socket(int netns, int protocol) {
  const Fd home = TRY(base::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY));
  if (::setns(netns, CLONE_NEWNET) != 0) return Error::from_errno(errno, "enter a namespace");
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  const int err = errno;
  if (::setns(home.get(), CLONE_NEWNET) != 0) return Error::from_errno(errno, "leave a namespace");
  if (!fd.valid()) return Error::from_errno(err, "open a netlink socket");
  return fd;
}

// What the kernel answers to one dump: the payload of each message.
Result<std::vector<std::string>> ask(int fd, uint16_t type, const std::string& payload) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<uint32_t>(NLMSG_HDRLEN + payload.size());
  header.nlmsg_type = type;
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  std::string request(reinterpret_cast<const char*>(&header), sizeof header);
  request += payload;
  if (::send(fd, request.data(), request.size(), 0) < 0) return Error::from_errno(errno, "send");
  std::vector<std::string> answers;
  std::string buffer(1 << 16, '\0');
  for (;;) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0) return Error::from_errno(errno, "receive");
    auto left = static_cast<size_t>(got);
    for (const char* at = buffer.data(); left >= sizeof header;) {
      std::memcpy(&header, at, sizeof header);
      if (header.nlmsg_type == NLMSG_DONE) return answers;
      if (header.nlmsg_type == NLMSG_ERROR) return Error(Code::kInternal, "a dump was refused");
      answers.emplace_back(at + NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
      const size_t length = std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), left);
      at += length;
      left -= length;
    }
  }
}

Attributes parse_attributes(const std::string& message, size_t header) {
  Attributes attributes;
  for (size_t at = NLMSG_ALIGN(header); at + sizeof(rtattr) <= message.size();) {
    rtattr attribute{};
    std::memcpy(&attribute, message.data() + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute) break;
    attributes[static_cast<uint16_t>(attribute.rta_type & NLA_TYPE_MASK)] =
        message.substr(at + sizeof attribute, attribute.rta_len - sizeof attribute);
    at += RTA_ALIGN(attribute.rta_len);
  }
  return attributes;
}

std::string hex(std::string_view bytes, const char* separator = "") {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += str(text.empty() ? "" : separator, kDigits[value >> 4], kDigits[value & 15]);
  }
  return text;
}

std::string lines_of(const char* what, const std::vector<std::string>& messages, size_t header,
                     uint16_t left_out) {
  std::string text;
  for (const std::string& message : messages) {
    text += str(what, " ", hex(std::string_view(message).substr(0, header)));
    for (const auto& [type, value] : parse_attributes(message, header)) {
      if (type != left_out) text += str(" ", type, "=", hex(value));
    }
    text += "\n";
  }
  return text;
}

std::string text_attribute(uint16_t type, const std::string& text) {
  rtattr header{};
  header.rta_len = static_cast<uint16_t>(sizeof header + text.size() + 1);
  header.rta_type = type;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += text;
  bytes.resize(RTA_ALIGN(bytes.size() + 1), '\0');
  return bytes;
}

constexpr uint16_t nft_type(int message) {
  return static_cast<uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

std::string nft_header(uint8_t family) {
  nfgenmsg header{};
  header.nfgen_family = family;
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

// The items of a list, which have all the same type.
std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items;
  rtattr item{};
  for (size_t at = 0; at + sizeof item <= list.size(); at += RTA_ALIGN(item.rta_len)) {
    std::memcpy(&item, list.data() + at, sizeof item);
    if (item.rta_len < sizeof item) break;
    items.push_back(
        hex(std::string_view(list).substr(at + sizeof item, item.rta_len - sizeof item)));
  }
  return items;
}

// The elements of SET. Sorted: the kernel lists them by a hash that it changes as it likes.
Result<std::string> dump_elements(int fd, const std::string& set) {
  Attributes names = parse_attributes(set, sizeof(nfgenmsg));
  const std::string name = names[NFTA_SET_NAME].c_str();
  const std::string request =
      nft_header(static_cast<uint8_t>(set.front())) +
      text_attribute(NFTA_SET_ELEM_LIST_TABLE, names[NFTA_SET_TABLE].c_str()) +
      text_attribute(NFTA_SET_ELEM_LIST_SET, name);
  std::vector<std::string> elements;
  for (const std::string& part : TRY(ask(fd, nft_type(NFT_MSG_GETSETELEM), request))) {
    Attributes attributes = parse_attributes(part, sizeof(nfgenmsg));
    const std::vector<std::string> items = items_of(attributes[NFTA_SET_ELEM_LIST_ELEMENTS]);
    elements.insert(elements.end(), items.begin(), items.end());
  }
  std::sort(elements.begin(), elements.end());
  return str("elements of ", name, ": ", base::join(elements, " "), "\n");
}

Result<std::string> dump_nftables(int netns) {
  const Fd fd = TRY(open_socket(netns, NETLINK_NETFILTER));
  std::string text;
  constexpr struct {
    const char* what;
    int message;
  } kParts[] = {
      {"table", NFT_MSG_GETTABLE}, {"chain", NFT_MSG_GETCHAIN}, {"rule", NFT_MSG_GETRULE}};
  for (const auto& part : kParts) {
    const std::vector<std::string> messages =
        TRY(ask(fd.get(), nft_type(part.message), nft_header(NFPROTO_UNSPEC)));
    text += lines_of(part.what, messages, 1, 0);
  }
  const std::vector<std::string> sets =
      TRY(ask(fd.get(), nft_type(NFT_MSG_GETSET), nft_header(NFPROTO_UNSPEC)));
  text += lines_of("set", sets, 1, 0);
  for (const std::string& set : sets) text += TRY(dump_elements(fd.get(), set));
  return text;
}

template <typename Header>
std::string zero_header() {
  return std::string(NLMSG_ALIGN(sizeof(Header)), '\0');
}

Result<std::vector<std::string>> ask_links(int fd) {
  return ask(fd, RTM_GETLINK, zero_header<ifinfomsg>());
}

LinkView link_of(const std::string& message) {
  ifinfomsg header{};
  std::memcpy(&header, message.data(), sizeof header);
  Attributes attributes = parse_attributes(message, sizeof header);
  return {attributes[IFLA_IFNAME].c_str(), hex(attributes[IFLA_ADDRESS], ":"),
          (header.ifi_flags & IFF_UP) != 0};
}

}  // namespace

Result<std::vector<LinkView>> read_links(int netns) {
  const Fd fd = TRY(open_socket(netns, NETLINK_ROUTE));
  std::vector<LinkView> links;
  for (const std::string& message : TRY(ask_links(fd.get()))) links.push_back(link_of(message));
  return links;
}

Result<std::string> dump_network(int netns) {
  const Fd fd = TRY(open_socket(netns, NETLINK_ROUTE));
  std::string text;
  for (const std::string& message : TRY(ask_links(fd.get()))) {
    const LinkView link = link_of(message);
    // Counters of packets are not part of it.
    text += str("link ", hex(std::string_view(message).substr(0, sizeof(ifinfomsg))), " ",
                link.name, " ", link.mac, "\n");
  }
  const std::vector<std::string> addresses =
      TRY(ask(fd.get(), RTM_GETADDR, zero_header<ifaddrmsg>()));
  text += lines_of("address", addresses, sizeof(ifaddrmsg), IFA_CACHEINFO);
  const std::vector<std::string> routes = TRY(ask(fd.get(), RTM_GETROUTE, zero_header<rtmsg>()));
  text += lines_of("route", routes, sizeof(rtmsg), RTA_CACHEINFO);
  text += TRY(dump_nftables(netns));
  return text;
}

}  // namespace fault
