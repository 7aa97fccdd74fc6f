// SPDX-License-Identifier: Apache-2.0
// Connections and datagrams from and to network namespaces, of either address family.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

// The value of RESULT. An error ends the test: GoogleTest reports an exception with its message.
template <typename T>
T must(base::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message());
  return std::move(result).take();
}

Address ip(const char* text);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const;
};
SocketAddress socket_address(const Address& address, uint16_t port);

// A socket that listens, or is bound for datagrams; at a port of the kernel's choice if PORT is 0.
struct Service {
  base::Fd socket;
  uint16_t port;
};
Service serve_tcp(const Namespace& in, const Address& at, uint16_t port = 0);
Service serve_udp(const Namespace& in, const Address& at, uint16_t port = 0);

// Who makes a connection, and how.
struct Client {
  const Namespace& in;
  std::string device{};             // SO_BINDTODEVICE if not empty
  uint16_t source_port = 0;         // 0: the kernel's choice
  std::optional<Address> source{};  // unset: the kernel's choice; need not be the namespace's own
};
constexpr std::chrono::milliseconds kPatience{2000};
// For what must not come: far above what it takes to come.
constexpr std::chrono::milliseconds kQuiet{300};

// A socket as CLIENT says; IP_FREEBIND if it has a source. Throws if that fails.
base::Fd make_socket(const Client& client, int type, const Address& to, int protocol = 0);

// The errno of connecting, 0 when it succeeded, ETIMEDOUT after PATIENCE.
int connect_tcp(const Client& client, const Address& to, uint16_t port,
                std::chrono::milliseconds patience = kPatience);
// The errno of sending a datagram that says "x".
int try_send_udp(const Client& client, const Address& to, uint16_t port);
// Whether SERVICE gets a datagram that is sent to it.
bool send_udp(const Client& client, const Address& to, const Service& service);
// The same by the socket of FROM.
bool sends(const Service& from, const Address& to, const Service& service);
// Whether SERVICE has got one, after PATIENCE at most. Takes it.
bool has_datagram(const Service& service, std::chrono::milliseconds patience);
// The errno of an echo request by a ping socket, 0 when it was answered, ETIMEDOUT after PATIENCE.
int ping(const Client& client, const Address& to, std::chrono::milliseconds patience = kPatience);
// Whether the other end of SERVICE's next connection reads what is written there.
bool echoes(const Namespace& client, const Address& to, const Service& service);

// What FUNCTION returns, which is 0 to 254, in a process of the namespace that has no capability;
// 255 if it threw.
int confined(const Namespace& in, const std::function<int()>& function);

}  // namespace netns
