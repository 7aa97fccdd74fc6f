// SPDX-License-Identifier: Apache-2.0
#include "vipu/dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "vipu/types.h"

namespace vipu {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

// A socket address, and what it is to people.
struct Target {
  sockaddr_storage address = {};
  socklen_t size = 0;
  std::string host;
  std::string text;
};

template <typename Address>
Target target_of(const Address& address, const std::string& host) {
  Target target;
  static_assert(sizeof address <= sizeof target.address);
  target.size = sizeof address;
  target.host = host;
  *reinterpret_cast<Address*>(&target.address) = address;
  return target;
}

// Returns nothing if HOST is not the address of an interface.
std::optional<Target> parse_target(const std::string& host, uint16_t port) {
  sockaddr_in narrow{};
  narrow.sin_family = AF_INET;
  narrow.sin_port = ::htons(port);
  sockaddr_in6 wide{};
  wide.sin6_family = AF_INET6;
  wide.sin6_port = ::htons(port);
  std::optional<Target> target;
  if (::inet_pton(AF_INET, host.c_str(), &narrow.sin_addr) == 1) {
    target = target_of(narrow, host);
    target->text = str(host, ':', port);
  } else if (::inet_pton(AF_INET6, host.c_str(), &wide.sin6_addr) == 1) {
    target = target_of(wide, host);
    target->text = str('[', host, "]:", port);
  }
  return target;
}

// Leaves out what is no address.
std::vector<Target> targets_of(const std::vector<std::string>& hosts, uint16_t port) {
  std::vector<Target> targets;
  for (const std::string& host : hosts) {
    std::optional<Target> target = parse_target(host, port);
    if (target) targets.push_back(std::move(*target));
  }
  return targets;
}

// Waits for the end of a connect that has begun. Returns its errno, 0 for success.
int wait_until_connected(int fd, const Deadline& deadline) {
  pollfd waiting{fd, POLLOUT, 0};
  int ready = -1;
  do {
    ready = ::poll(&waiting, 1, static_cast<int>(deadline.left().count()));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return ETIMEDOUT;
  int err = 0;
  socklen_t size = sizeof err;
  const bool known = ready > 0 && ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) == 0;
  return known ? err : errno;
}

Result<base::Fd> connect_to(const Target& target, const Deadline& deadline) {
  const std::string what = str("failed to connect to ", target.text);
  constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  base::Fd fd(::socket(target.address.ss_family, kType, 0));
  if (!fd.valid()) return Error::from_errno(errno, what);
  const int on = 1;  // as gRPC does
  (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto* const address = reinterpret_cast<const sockaddr*>(&target.address);
  int err = ::connect(fd.get(), address, target.size) == 0 ? 0 : errno;
  if (err == EINPROGRESS) err = wait_until_connected(fd.get(), deadline);
  if (err == ETIMEDOUT) return Error(Code::kTimeout, str(what, ": no answer"));
  if (err != 0) return Error::from_errno(err, what);
  return fd;
}

}  // namespace

HostAndPort split_host_and_port(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return {std::string(address), ""};
  return {std::string(address.substr(0, colon)), std::string(address.substr(colon + 1))};
}

Error too_many_addresses(std::string_view host) {
  return {Code::kInvalid,
          str(host, " has more than ", kMaxControllerAddresses,
              " addresses, and containers are kept from no more: set 'controller' in [pool] to an"
              " address, or to a name with fewer")};
}

// A name server that is silent must not look like a controller that is. The client asks again in
// the little time that is left, and is told the same.
Result<std::vector<std::string>> Dialer::look_up(const Deadline& deadline) {
  if (!is_name_silent_) {
    Result<std::vector<std::string>> found = resolve_(deadline);
    is_name_silent_ = !found.ok() && found.error().code() == Code::kTimeout;
    if (!is_name_silent_) return found;
  }
  return Error(Code::kUnavailable,
               str("DNS resolution failed for ", address_,
                   ": no name server answered in time; check /etc/resolv.conf, or set"
                   " 'controller' in [pool] to an address"));
}

Result<base::Fd> Dialer::dial(const Deadline& deadline) {
  const auto [host, port_text] = split_host_and_port(address_);
  const auto port = TRY(base::parse_int<uint16_t>(port_text, 1, UINT16_MAX));
  std::vector<std::string> hosts{host};
  if (!parse_target(host, port)) hosts = TRY(look_up(deadline));
  const std::vector<Target> targets = targets_of(hosts, port);
  for (const Target& target : targets) {
    const bool known =
        std::find(addresses_.begin(), addresses_.end(), target.host) != addresses_.end();
    if (!known) addresses_.push_back(target.host);
    if (addresses_.size() > kMaxControllerAddresses) return too_many_addresses(host);
  }
  Error last(Code::kUnavailable, str("DNS resolution failed for ", address_, ": no address"));
  for (size_t i = 0; i < targets.size(); ++i) {
    const Target& target = targets[i];
    // One that does not answer leaves time for the others.
    const auto share = deadline.left() / static_cast<int64_t>(targets.size() - i);
    Result<base::Fd> fd = connect_to(target, deadline.capped(share));
    if (fd.ok() && target.address.ss_family == AF_INET) ipv4_ = target.host;
    if (fd.ok()) return fd;
    last = fd.error();
  }
  return last;
}

base::Answer Dialer::answer(std::string_view question, const Deadline& deadline) {
  constexpr int64_t kLongest = 24 * 3'600'000;
  const Result<int64_t> wanted = base::parse_int<int64_t>(question, 1, kLongest);
  if (!wanted.ok()) return {{}, "the question is not a number of milliseconds"};
  Result<base::Fd> fd = dial(deadline.capped(milliseconds(wanted.value())));
  if (fd.ok()) return {std::move(fd).take(), "connected"};
  if (fd.error().code() == Code::kTimeout) return {{}, std::string(kNoConnectionInTime)};
  return {{}, fd.error().message()};
}

}  // namespace vipu
