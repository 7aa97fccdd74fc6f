// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/session/resolve.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "vipu/dial.h"

namespace client {
namespace {

using namespace base::names;

struct FreeChannel {
  void operator()(ares_channel channel) const { ::ares_destroy(channel); }  // also ends look-ups
};
using Channel = std::unique_ptr<ares_channeldata, FreeChannel>;

// What was found of one family of addresses. There is no status while the look-up lasts.
struct Found {
  std::optional<int> status = {};
  std::vector<std::string> addresses = {};
};

std::string text_of(const ares_addrinfo_node& node) {
  char text[INET6_ADDRSTRLEN] = {};
  const void* address = nullptr;
  if (node.ai_family == AF_INET) {
    address = &reinterpret_cast<const sockaddr_in*>(node.ai_addr)->sin_addr;
  } else {
    address = &reinterpret_cast<const sockaddr_in6*>(node.ai_addr)->sin6_addr;
  }
  return ::inet_ntop(node.ai_family, address, text, sizeof text) == nullptr ? "" : text;
}

void keep(void* argument, int status, int /*timeouts*/, ares_addrinfo* result) {
  auto& found = *static_cast<Found*>(argument);
  found.status = status;
  const ares_addrinfo_node* node = result == nullptr ? nullptr : result->nodes;
  for (; node != nullptr; node = node->ai_next) {
    std::string text = text_of(*node);
    std::vector<std::string>& all = found.addresses;
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
  }
  if (result != nullptr) ::ares_freeaddrinfo(result);
}

// Lets the channel read and write what its sockets are ready for. Waits for that at most 100 ms,
// since c-ares also has timeouts of its own.
void step(ares_channel channel, const Deadline& deadline) {
  constexpr std::chrono::milliseconds kLongest(100);
  ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
  const auto wanted = static_cast<unsigned>(::ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM));
  std::vector<pollfd> waiters;
  for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM; ++i) {
    const int reads = ARES_GETSOCK_READABLE(wanted, i) != 0U ? POLLIN : 0;
    const int writes = ARES_GETSOCK_WRITABLE(wanted, i) != 0U ? POLLOUT : 0;
    if ((reads | writes) == 0) continue;
    waiters.push_back({sockets[i], static_cast<short>(reads | writes), 0});
  }
  const auto wait = std::min(deadline.left(), kLongest).count();
  (void)::poll(waiters.data(), waiters.size(), static_cast<int>(wait));
  for (const pollfd& waiter : waiters) {
    const bool reads = (waiter.revents & ~POLLOUT) != 0;
    const bool writes = (waiter.revents & POLLOUT) != 0;
    ::ares_process_fd(channel, reads ? waiter.fd : ARES_SOCKET_BAD,
                      writes ? waiter.fd : ARES_SOCKET_BAD);
  }
  ::ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

// Returns a channel that looks names up in PLACES; nullptr: where the host's settings say.
Result<Channel> open_channel(const char* places) {
  ares_options options{};
  std::string copy = places == nullptr ? "" : places;  // c-ares takes no const
  options.lookups = copy.data();
  ares_channel channel = nullptr;
  const int made =
      ::ares_init_options(&channel, &options, places == nullptr ? 0 : ARES_OPT_LOOKUPS);
  if (made != ARES_SUCCESS) return Error(Code::kInternal, str("c-ares: ", ::ares_strerror(made)));
  return Channel(channel);
}

// Returns where this host looks names up, the first place first: 'f' is /etc/hosts, 'b' is DNS.
Result<std::string> places_of_host() {
  const Channel channel = TRY(open_channel(nullptr));
  ares_options options{};
  int set = 0;
  const int saved = ::ares_save_options(channel.get(), &options, &set);
  std::string places = saved == ARES_SUCCESS && options.lookups != nullptr ? options.lookups : "fb";
  ::ares_destroy_options(&options);
  return places;
}

void ask(const Channel& channel, const std::string& host, int family, Found& found) {
  ares_addrinfo_hints hints{};
  hints.ai_flags = ARES_AI_NOSORT;
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  ::ares_getaddrinfo(channel.get(), host.c_str(), nullptr, &hints, keep, &found);
}

// Whether FOUND is all there is in PLACE. For a name that is not in /etc/hosts, c-ares has other
// errors.
bool is_complete(const Found& found, char place) {
  const int status = *found.status;
  return place == 'f' || status == ARES_SUCCESS || status == ARES_ENODATA ||
         status == ARES_ENOTFOUND;
}

// Asks PLACE for the addresses of each family, because a common question is answered when one of
// them is found. IPv4 comes first: grants need the IPv4 address of the controller that answered.
Result<std::vector<std::string>> look_up(char place, const std::string& host,
                                         const Deadline& deadline) {
  // The channel is destroyed before these, into which it writes.
  Found ipv4;
  Found ipv6;
  const Channel channel = TRY(open_channel(std::string(1, place).c_str()));
  ask(channel, host, AF_INET, ipv4);
  ask(channel, host, AF_INET6, ipv6);
  while (!(ipv4.status && ipv6.status) && !deadline.passed()) step(channel.get(), deadline);
  if (!ipv4.status || !ipv6.status) {
    return Error(Code::kTimeout,
                 "no name server answered in time; check /etc/resolv.conf, or set 'controller' in"
                 " [pool] to an address");
  }
  if (!is_complete(ipv4, place)) return Error(Code::kUnavailable, ::ares_strerror(*ipv4.status));
  if (!is_complete(ipv6, place)) {
    return Error(Code::kUnavailable, str("IPv6 addresses: ", ::ares_strerror(*ipv6.status)));
  }
  std::vector<std::string>& all = ipv4.addresses;
  all.insert(all.end(), ipv6.addresses.begin(), ipv6.addresses.end());
  return std::move(all);
}

Result<std::vector<std::string>> look_up(const std::string& host, const Deadline& deadline) {
  for (const char place : TRY(places_of_host())) {
    // c-ares asks no server for this name (RFC 6761), and reports an error.
    if (place == 'b' && host == "localhost") continue;
    std::vector<std::string> found = TRY(look_up(place, host, deadline));
    if (!found.empty()) return found;
  }
  return Error(Code::kUnavailable, ::ares_strerror(ARES_ENOTFOUND));
}

}  // namespace

Result<vipu::wire::Addresses> resolve(const std::string& address, const Deadline& deadline) {
  const std::string host = vipu::split_host_and_port(address).host;
  std::vector<std::string> all =
      TRY_CTX(str("DNS resolution failed for ", address), look_up(host, deadline));
  if (all.size() > vipu::kMaxControllerAddresses) return vipu::too_many_addresses(host);
  return vipu::wire::Addresses{std::move(all)};
}

}  // namespace client
