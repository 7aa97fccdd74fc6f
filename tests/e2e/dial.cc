// SPDX-License-Identifier: Apache-2.0
// A tenant that tries: dial ADDRESS PORT [SOURCE [INTERFACE]] connects, bound to the source address
// and to the interface if given, and prints what the other side says. Exit 1 if it cannot within 2
// s.
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

sockaddr_in address_of(const char* text, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  if (inet_pton(AF_INET, text, &address.sin_addr) == 1) return address;
  std::fprintf(stderr, "dial: %s is no address\n", text);
  std::exit(2);
}

void require(int result, const char* what) {
  if (result >= 0) return;
  std::perror(what);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) return 2;
  const sockaddr_in target = address_of(argv[1], argv[2]);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  require(fd, "socket");
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  require(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), "SO_SNDTIMEO");
  require(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), "SO_RCVTIMEO");
  if (argc > 4) {
    const auto length = static_cast<socklen_t>(std::strlen(argv[4]));
    require(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, argv[4], length), "SO_BINDTODEVICE");
  }
  if (argc > 3) {
    const sockaddr_in source = address_of(argv[3], "0");
    require(bind(fd, reinterpret_cast<const sockaddr*>(&source), sizeof source), "bind");
  }
  require(connect(fd, reinterpret_cast<const sockaddr*>(&target), sizeof target), "connect");
  char line[256];
  const ssize_t length = read(fd, line, sizeof line);
  require(static_cast<int>(length), "read");
  std::fwrite(line, 1, static_cast<size_t>(length), stdout);
  return 0;
}
