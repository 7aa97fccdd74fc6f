// SPDX-License-Identifier: Apache-2.0
// A tenant who has got hold of CAP_NET_RAW or CAP_NET_ADMIN:
//   raw syn INTERFACE TO-MAC SOURCE ADDRESS PORT
//       sends a SYN by a packet socket. Prints "answered" if a SYN ACK arrives within 1 s, else
//       "silent".
//   raw flush [FAMILY TABLE]
//       removes all nftables tables of the namespace, or one: inet is 1, netdev is 5.
// Exit 3, with "not permitted", without the capability.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void require(long result, const char* what) {
  if (result >= 0) return;
  std::printf("%s: %s\n", what, errno == EPERM ? "not permitted" : std::strerror(errno));
  std::exit(errno == EPERM ? 3 : 2);
}

struct Syn {
  ether_header ethernet;
  iphdr ip;
  tcphdr tcp;
} __attribute__((packed));

uint32_t sum(const void* data, size_t bytes) {
  uint32_t total = 0;
  for (size_t i = 0; i < bytes; i += 2) {
    uint16_t word = 0;
    std::memcpy(&word, static_cast<const char*>(data) + i, 2);
    total += word;
  }
  return total;
}
uint16_t folded(uint32_t total) {
  while (total >> 16 != 0) total = (total & 0xffff) + (total >> 16);
  return static_cast<uint16_t>(~total);
}

Syn syn_of(const ether_addr& own, const char* const* words) {
  Syn syn{};
  const ether_addr* to = ether_aton(words[0]);
  if (to == nullptr) std::exit(2);
  std::memcpy(syn.ethernet.ether_dhost, to, ETH_ALEN);
  std::memcpy(syn.ethernet.ether_shost, &own, ETH_ALEN);
  syn.ethernet.ether_type = htons(ETHERTYPE_IP);
  syn.ip.version = 4;
  syn.ip.ihl = 5;
  syn.ip.tot_len = htons(sizeof(iphdr) + sizeof(tcphdr));
  syn.ip.ttl = 64;
  syn.ip.protocol = IPPROTO_TCP;
  syn.ip.saddr = inet_addr(words[1]);
  syn.ip.daddr = inet_addr(words[2]);
  iphdr ip = syn.ip;
  syn.ip.check = folded(sum(&ip, sizeof ip));
  syn.tcp.source = htons(static_cast<uint16_t>(20000 + getpid() % 20000));
  syn.tcp.dest = htons(static_cast<uint16_t>(std::atoi(words[3])));
  syn.tcp.seq = htonl(7);
  syn.tcp.doff = 5;
  syn.tcp.syn = 1;
  syn.tcp.window = htons(1024);
  tcphdr tcp = syn.tcp;
  const uint32_t addresses = sum(&ip.saddr, 2 * sizeof ip.saddr);
  syn.tcp.check =
      folded(sum(&tcp, sizeof tcp) + addresses + htons(IPPROTO_TCP) + htons(sizeof(tcphdr)));
  return syn;
}

bool answers(const Syn& reply, const Syn& syn) {
  return reply.ethernet.ether_type == syn.ethernet.ether_type && reply.ip.ihl == 5 &&
         reply.ip.protocol == IPPROTO_TCP && reply.ip.saddr == syn.ip.daddr &&
         reply.tcp.dest == syn.tcp.source && reply.tcp.syn == 1 && reply.tcp.ack == 1;
}

int send_syn(const char* interface, const char* const* words) {
  const int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  require(fd, "packet socket");
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
  require(ioctl(fd, SIOCGIFHWADDR, &request), interface);
  ether_addr own{};
  std::memcpy(&own, request.ifr_hwaddr.sa_data, ETH_ALEN);
  require(ioctl(fd, SIOCGIFINDEX, &request), interface);
  sockaddr_ll link{};
  link.sll_family = AF_PACKET;
  link.sll_protocol = htons(ETH_P_ALL);
  link.sll_ifindex = request.ifr_ifindex;
  require(bind(fd, reinterpret_cast<const sockaddr*>(&link), sizeof link), "bind");
  const Syn syn = syn_of(own, words);
  // ENOBUFS: a filter has dropped it.
  if (send(fd, &syn, sizeof syn, 0) < 0 && errno != ENOBUFS) require(-1, "send");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd readable{fd, POLLIN, 0};
    if (left.count() <= 0 || poll(&readable, 1, static_cast<int>(left.count())) <= 0) break;
    Syn reply{};
    if (recv(fd, &reply, sizeof reply, MSG_TRUNC) < static_cast<ssize_t>(sizeof reply)) continue;
    if (!answers(reply, syn)) continue;
    std::puts("answered");
    return 0;
  }
  std::puts("silent");
  return 0;
}

struct Request {
  nlmsghdr header;
  nfgenmsg body;
};

Request request(uint16_t type, uint16_t flags, uint16_t resource) {
  Request made{};
  made.header.nlmsg_len = sizeof made;
  made.header.nlmsg_type = type;
  made.header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  made.body.res_id = htons(resource);
  return made;
}

// A batch with one request: remove a table, or all tables of all families.
int flush(uint8_t family, const char* table) {
  struct {
    Request begin = request(NFNL_MSG_BATCH_BEGIN, 0, NFNL_SUBSYS_NFTABLES);
    Request remove = request(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_DELTABLE, NLM_F_ACK, 0);
    nlattr name{};
    char text[32]{};
  } batch;
  static_assert(sizeof batch == 2 * sizeof(Request) + sizeof(nlattr) + 32);
  batch.remove.body.nfgen_family = family;
  size_t length = 2 * sizeof(Request);
  if (table != nullptr) {
    std::snprintf(batch.text, sizeof batch.text, "%s", table);
    batch.name = {sizeof(nlattr) + sizeof batch.text, NFTA_TABLE_NAME};
    batch.remove.header.nlmsg_len += batch.name.nla_len;
    length = sizeof batch;
  }
  const Request end = request(NFNL_MSG_BATCH_END, 0, NFNL_SUBSYS_NFTABLES);
  iovec parts[] = {{&batch, length}, {const_cast<Request*>(&end), sizeof end}};
  const int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
  require(fd, "netlink socket");
  require(writev(fd, parts, 2), "send");
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char more[512];
  } reply{};
  require(recv(fd, &reply, sizeof reply, 0), "receive");
  errno = -reply.error.error;
  require(reply.error.error, "flush");
  std::puts("flushed");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 7 && std::strcmp(argv[1], "syn") == 0) return send_syn(argv[2], argv + 3);
  if (argc == 2 && std::strcmp(argv[1], "flush") == 0) return flush(0, nullptr);
  if (argc == 4 && std::strcmp(argv[1], "flush") == 0) {
    return flush(static_cast<uint8_t>(std::atoi(argv[2])), argv[3]);
  }
  return 2;
}
