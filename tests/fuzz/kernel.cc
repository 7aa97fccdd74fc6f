// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/kernel.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

std::string_view rest;
uint32_t first_number = 1;  // of the current request

// Gives the message at START the number that the reader expects.
void renumber(char* start) {
  nlmsghdr header{};
  std::memcpy(&header, start, sizeof header);
  header.nlmsg_seq += first_number - 1;
  std::memcpy(start, &header, sizeof header);
}

// Copies the next datagram to BUFFER. Returns its size; 0 at the end.
size_t next_datagram(char* buffer, size_t room) {
  size_t size = 0;
  while (size < room && !rest.empty()) {
    nlmsghdr header{};
    std::memcpy(&header, rest.data(), std::min(rest.size(), sizeof header));
    size_t length = (size_t{header.nlmsg_len} + 3) / 4 * 4;
    if (length < sizeof header || length > rest.size()) length = rest.size();
    if (length > room - size && size > 0) break;
    length = std::min(length, room - size);
    std::memcpy(buffer + size, rest.data(), length);
    if (length >= sizeof header) renumber(buffer + size);
    rest.remove_prefix(length);
    size += length;
    if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) break;
  }
  return size;
}

ssize_t answer(char* buffer, size_t room, sockaddr_nl* sender) {
  if (rest.empty()) {
    errno = EAGAIN;
    return -1;
  }
  if (sender != nullptr) *sender = {};
  return static_cast<ssize_t>(next_datagram(buffer, room));
}

}  // namespace

void set_answers(std::string_view messages) { rest = messages; }

const netns::Namespace& here() {
  static const netns::Namespace self = netns::Namespace::current().take();
  return self;
}

}  // namespace fuzz

extern "C" {

ssize_t __wrap_sendmsg(int /*fd*/, const msghdr* datagram, int /*flags*/) {
  nlmsghdr header{};
  size_t size = 0;
  for (size_t i = 0; i < datagram->msg_iovlen; ++i) size += datagram->msg_iov[i].iov_len;
  std::memcpy(&header, datagram->msg_iov[0].iov_base, sizeof header);
  fuzz::first_number = header.nlmsg_seq;
  return static_cast<ssize_t>(size);
}

ssize_t __wrap_recvmsg(int /*fd*/, msghdr* datagram, int /*flags*/) {
  datagram->msg_flags = 0;
  return fuzz::answer(static_cast<char*>(datagram->msg_iov[0].iov_base),
                      datagram->msg_iov[0].iov_len, static_cast<sockaddr_nl*>(datagram->msg_name));
}

ssize_t __wrap_recvfrom(int /*fd*/, void* buffer, size_t size, int /*flags*/, sockaddr* sender,
                        socklen_t* /*length*/) {
  void* const from = sender;
  return fuzz::answer(static_cast<char*>(buffer), size, static_cast<sockaddr_nl*>(from));
}
}
