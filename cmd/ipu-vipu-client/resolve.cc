// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/resolve.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "vipu/dial.h"

namespace client {
namespace {

using namespace base::names;

// The outcome of a look-up; unset while it lasts.
struct Found {
  std::optional<int> status;
  std::vector<std::string> addresses;  // each once
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

// IPv4 first: grants need the IPv4 address of the controller that answered.
void keep(void* argument, int status, int /*timeouts*/, ares_addrinfo* result) {
  auto& found = *static_cast<Found*>(argument);
  found.status = status;
  for (const int family : {AF_INET, AF_INET6}) {
    const ares_addrinfo_node* node = result == nullptr ? nullptr : result->nodes;
    for (; node != nullptr; node = node->ai_next) {
      if (node->ai_family != family) continue;
      std::string text = text_of(*node);
      std::vector<std::string>& all = found.addresses;
      if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
    }
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

Result<Found> look_up(const std::string& host, const Deadline& deadline) {
  ares_channel channel = nullptr;
  const int made = ::ares_init(&channel);
  if (made != ARES_SUCCESS) return Error(Code::kInternal, str("c-ares: ", ::ares_strerror(made)));
  ares_addrinfo_hints hints{};
  hints.ai_flags = ARES_AI_NOSORT;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  Found found;
  ::ares_getaddrinfo(channel, host.c_str(), nullptr, &hints, keep, &found);
  while (!found.status && !deadline.passed()) step(channel, deadline);
  const bool in_time = found.status.has_value();
  ::ares_destroy(channel);  // ends a look-up that lasts
  if (!in_time) return Error(Code::kTimeout, "no answer in time");
  return found;
}

}  // namespace

Result<vipu::wire::Addresses> resolve(const std::string& address, const Deadline& deadline) {
  const std::string what = str("DNS resolution failed for ", address);
  const std::string host = vipu::split_host_and_port(address).host;
  Found found = TRY_CTX(what, look_up(host, deadline));
  if (found.addresses.size() > vipu::kMaxControllerAddresses) return vipu::too_many_addresses(host);
  if (!found.addresses.empty()) return vipu::wire::Addresses{std::move(found.addresses)};
  return Error(Code::kUnavailable, str(what, ": ", ::ares_strerror(*found.status)));
}

}  // namespace client
