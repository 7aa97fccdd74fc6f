// SPDX-License-Identifier: Apache-2.0
// A tenant who has got hold of CAP_NET_RAW and sends what no socket would send:
//   frame send INTERFACE[,MAC] KIND TO-MAC SOURCE ADDRESS PORT MARK
//       sends one frame of KIND, with MARK in it, from MAC, or else from that of INTERFACE. Prints
//       "sent", also if a filter tells at once that it dropped the frame.
//   frame hear INTERFACE
//       prints each MARK that arrives, one a line, until it is killed.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kBeforeMark = "ATTACK:";
constexpr char kAfterMark = '\n';

void require(long result, const char* what) {
  if (result >= 0) return;
  std::printf("%s: %s\n", what, errno == EPERM ? "not permitted" : std::strerror(errno));
  std::exit(errno == EPERM ? 3 : 2);
}

std::string word(unsigned value) {
  return {static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)};
}

std::string address(const char* text) {
  in_addr binary{};
  if (inet_pton(AF_INET, text, &binary) != 1) std::exit(2);
  return {reinterpret_cast<const char*>(&binary), sizeof binary};
}

unsigned checksum(const std::string& bytes) {
  unsigned sum = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    sum += static_cast<unsigned>(static_cast<uint8_t>(bytes[i]) << 8 |
                                 static_cast<uint8_t>(bytes[i + 1]));
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}

// What the frame says of itself.
struct Words {
  std::string_view kind;
  std::string to, own;          // MACs
  std::string source, address;  // of IPv4
  unsigned port = 0;
  std::string mark;
};

// OPTIONS: of the header, a multiple of 4 bytes.
std::string ipv4(const Words& words, uint8_t protocol, const std::string& payload,
                 unsigned fragment = 0, const std::string& options = "") {
  const auto size = static_cast<unsigned>(20 + options.size() + payload.size());
  const char version = static_cast<char>(0x45 + options.size() / 4);
  std::string header = std::string{version, 0} + word(size) + word(1) + word(fragment) +
                       std::string{64, static_cast<char>(protocol)} + word(0) + words.source +
                       words.address + options;
  header.replace(10, 2, word(checksum(header)));
  return header + payload;
}

std::string udp(unsigned port, const std::string& payload) {
  return word(20000) + word(port) + word(static_cast<unsigned>(8 + payload.size())) + word(0) +
         payload;
}

std::string syn(unsigned port) {
  return word(20000) + word(port) + std::string("\0\0\0\1\0\0\0\0\x50\2\xff\xff\0\0\0\0", 16);
}

std::string arp(unsigned operation, const Words& words) {
  return std::string("\0\1\10\0\6\4", 6) + word(operation) + words.own + words.source +
         std::string(6, '\0') + words.address;
}

std::string ipv6(const std::string& payload) {
  const std::string nobody("\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
  const std::string all_nodes("\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
  return std::string("\x60\0\0\0", 4) + word(static_cast<unsigned>(payload.size())) +
         std::string{17, 64} + nobody + all_nodes + payload;
}

std::string frame_of(const Words& words) {
  const std::string mark = std::string(kBeforeMark) + words.mark + kAfterMark;
  const std::string ethernet = words.to + words.own;
  const std::string datagram = ipv4(words, IPPROTO_UDP, udp(words.port, mark));
  const std::string segment = ipv4(words, IPPROTO_TCP, syn(words.port) + mark);
  if (words.kind == "syn" || words.kind == "bypass") return ethernet + word(ETH_P_IP) + segment;
  if (words.kind == "udp") return ethernet + word(ETH_P_IP) + datagram;
  if (words.kind == "vlan") {
    return ethernet + word(ETH_P_8021Q) + word(7) + word(ETH_P_IP) + segment;
  }
  if (words.kind == "broadcast") {
    return std::string(6, '\xff') + words.own + word(ETH_P_IP) + datagram;
  }
  if (words.kind == "fragment") {  // the first of several
    return ethernet + word(ETH_P_IP) + ipv4(words, IPPROTO_TCP, syn(words.port) + mark, 0x2000);
  }
  if (words.kind == "options") {
    return ethernet + word(ETH_P_IP) +
           ipv4(words, IPPROTO_TCP, syn(words.port) + mark, 0, "\1\1\1\1");
  }
  if (words.kind == "ipv6") {
    return std::string("\x33\x33\0\0\0\1", 6) + words.own + word(ETH_P_IPV6) +
           ipv6(udp(words.port, mark));
  }
  if (words.kind == "experiment") return ethernet + word(0x88b5) + mark;
  if (words.kind == "ask" || words.kind == "claim") {
    return std::string(6, '\xff') + words.own + word(ETH_P_ARP) +
           arp(words.kind == "ask" ? 1 : 2, words) + mark;
  }
  std::exit(2);
}

std::string mac_of(const char* text) {
  const ether_addr* const found = ether_aton(text);
  if (found == nullptr) std::exit(2);
  return {reinterpret_cast<const char*>(found), ETH_ALEN};
}

// A packet socket that is bound to the interface. Sets OWN to the MAC of that.
int open_socket(const std::string& interface, std::string& own) {
  const int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  require(fd, "packet socket");
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface.c_str());
  require(ioctl(fd, SIOCGIFHWADDR, &request), "interface");
  own.assign(request.ifr_hwaddr.sa_data, ETH_ALEN);
  require(ioctl(fd, SIOCGIFINDEX, &request), "interface");
  sockaddr_ll link{};
  link.sll_family = AF_PACKET;
  link.sll_protocol = htons(ETH_P_ALL);
  link.sll_ifindex = request.ifr_ifindex;
  require(bind(fd, reinterpret_cast<const sockaddr*>(&link), sizeof link), "bind");
  return fd;
}

int send_frame(const std::string& from, const char* const* arguments) {
  Words words;
  words.kind = arguments[0];
  words.to = mac_of(arguments[1]);
  words.source = address(arguments[2]);
  words.address = address(arguments[3]);
  words.port = static_cast<unsigned>(std::atoi(arguments[4]));
  words.mark = arguments[5];
  const size_t comma = from.find(',');
  const int fd = open_socket(from.substr(0, comma), words.own);
  if (comma != std::string::npos) words.own = mac_of(from.c_str() + comma + 1);
  const int bypass = words.kind == "bypass" ? 1 : 0;
  require(setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &bypass, sizeof bypass), "bypass");
  const std::string frame = frame_of(words);
  if (send(fd, frame.data(), frame.size(), 0) < 0 && errno != ENOBUFS) require(-1, "send");
  std::puts("sent");
  return 0;
}

int hear(const char* interface) {
  std::string own;
  const int fd = open_socket(interface, own);
  for (;;) {
    char buffer[9216];
    const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
    require(size, "receive");
    const std::string_view frame(buffer, static_cast<size_t>(size));
    const size_t from = frame.find(kBeforeMark);
    const size_t end = frame.find(kAfterMark, from);
    if (from == std::string_view::npos || end == std::string_view::npos) continue;
    const std::string_view mark =
        frame.substr(from + kBeforeMark.size(), end - from - kBeforeMark.size());
    std::printf("%.*s\n", static_cast<int>(mark.size()), mark.data());
    (void)std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "send" && argc == 9) return send_frame(argv[2], argv + 3);
  if (what == "hear" && argc == 3) return hear(argv[2]);
  return 2;
}
