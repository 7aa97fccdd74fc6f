// SPDX-License-Identifier: Apache-2.0
// Stands between a client and a server of HTTP/2, and cuts one connection once:
//   frame_cutter ADDRESS PORT SERVER-PORT FRAME WAY COUNT-FILE
// Listens on PORT of the IPv4 ADDRESS, and passes connections on to SERVER-PORT there. Counts the
// frames of all connections, in both directions, in the order in which they come. At frame number
// FRAME, from 1, it does what WAY says; 0: never. It keeps the count in COUNT-FILE.
//   close      passes the frame on, and closes the connection
//   truncate   passes half of the frame on, and closes the connection
//   stall      passes the frame on, and nothing more; the connection stays open
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr size_t kPreface = 24;     // bytes that a client sends first (RFC 9113, 3.4)
constexpr size_t kFrameHeader = 9;  // of which the first three are the length of the rest (4.1)

struct Way {
  size_t frame = 0;  // 0: none
  std::string what;
};

struct Side {
  int from = -1;
  int to = -1;
  size_t unframed = 0;
  std::string waiting;  // the begin of what is not whole yet
};

struct Connection {
  std::array<Side, 2> sides;
  bool stalled = false;
};

class Cutter {
 public:
  Cutter(Way way, int count_file) : way_(std::move(way)), count_file_(count_file) {}

  // Returns whether the connection goes on.
  bool pass(Connection& connection, Side& side) {
    std::array<char, 65536> bytes{};
    const ssize_t size = ::read(side.from, bytes.data(), bytes.size());
    if (size <= 0) return false;
    side.waiting.append(bytes.data(), static_cast<size_t>(size));
    while (!connection.stalled) {
      const size_t length = next(side);
      if (length == 0 || side.waiting.size() < length) return true;
      const bool is_frame = side.unframed == 0;
      if (!is_frame) side.unframed = 0;
      const bool is_cut = is_frame && count() == way_.frame;
      if (!send(side.to,
                side.waiting.substr(0, is_cut && way_.what == "truncate" ? length / 2 : length)))
        return false;
      side.waiting.erase(0, length);
      if (is_cut && way_.what != "stall") return false;
      connection.stalled = is_cut;
    }
    return true;
  }

 private:
  // Returns the length of what comes next; 0: not known yet.
  static size_t next(const Side& side) {
    if (side.unframed > 0) return side.unframed;
    if (side.waiting.size() < kFrameHeader) return 0;
    size_t length = 0;
    for (size_t i = 0; i < 3; ++i)
      length = length << 8 | static_cast<unsigned char>(side.waiting[i]);
    return kFrameHeader + length;
  }

  size_t count() {
    ++frames_;
    std::array<char, 16> text{};
    const int size = std::snprintf(text.data(), text.size(), "%8zu\n", frames_);
    (void)!::pwrite(count_file_, text.data(), static_cast<size_t>(size), 0);
    return frames_;
  }

  static bool send(int to, const std::string& bytes) {
    return ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  Way way_;
  int count_file_;
  size_t frames_ = 0;
};

sockaddr_in address_of(const char* address, const char* port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  if (::inet_pton(AF_INET, address, &to.sin_addr) != 1) std::exit(2);
  return to;
}

int connect_to(const sockaddr_in& server) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof server) == 0) return fd;
  ::close(fd);
  return -1;
}

int listen_on(const sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(fd, 64) == 0)
    return fd;
  std::perror("frame_cutter: listen");
  std::exit(1);
}

void end(const Connection& connection) {
  for (const Side& side : connection.sides) ::close(side.from);
}

[[noreturn]] void serve(int listener, const sockaddr_in& server, Cutter& cutter) {
  std::vector<std::unique_ptr<Connection>> connections;
  while (true) {
    std::vector<pollfd> polls{{listener, POLLIN, 0}};
    for (const auto& one : connections)
      for (const Side& side : one->sides)
        polls.push_back({one->stalled ? -1 : side.from, POLLIN, 0});
    if (::poll(polls.data(), polls.size(), -1) < 0) continue;
    for (size_t i = connections.size(); i-- > 0;) {
      Connection& one = *connections[i];
      bool goes_on = true;
      for (size_t s = 0; s < 2 && goes_on; ++s)
        if (polls[1 + 2 * i + s].revents != 0 && !one.stalled)
          goes_on = cutter.pass(one, one.sides[s]);
      if (goes_on) continue;
      end(one);
      connections.erase(connections.begin() + static_cast<ptrdiff_t>(i));
    }
    if (polls[0].revents == 0) continue;
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const int etcd = client < 0 ? -1 : connect_to(server);
    if (etcd < 0) {
      ::close(client);
      continue;
    }
    connections.push_back(std::make_unique<Connection>());
    connections.back()->sides = {Side{client, etcd, kPreface, {}}, Side{etcd, client, 0, {}}};
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int count_file = ::open(argv[6], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (count_file < 0 || ::write(count_file, "       0\n", 9) != 9) return 1;
  Cutter cutter({static_cast<size_t>(std::atoi(argv[4])), argv[5]}, count_file);
  serve(listen_on(address_of(argv[1], argv[2])), address_of(argv[1], argv[3]), cutter);
}
