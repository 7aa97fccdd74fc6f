// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_message.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace base {
namespace {

// Room for one descriptor beside a message.
struct Rider {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int))] = {};
};

msghdr header_of(iovec& text, Rider& rider) {
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = rider.bytes;
  message.msg_controllen = sizeof rider.bytes;
  return message;
}

Fd descriptor_of(msghdr& message) {
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  const bool has_one = header != nullptr && header->cmsg_level == SOL_SOCKET &&
                       header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int));
  if (!has_one) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Fd(fd);
}

void attach(msghdr& message, int fd) {
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

}  // namespace

Status send_message(int socket, std::string_view text, int fd) {
  iovec bytes{const_cast<char*>(text.data()), text.size()};
  Rider rider;
  msghdr message = header_of(bytes, rider);
  if (fd >= 0) {
    attach(message, fd);
  } else {
    message.msg_control = nullptr;
    message.msg_controllen = 0;
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
  return Error::from_errno(errno, "send a message");
}

Result<DescriptorMessage> take_message(int socket, size_t max, int flags) {
  DescriptorMessage taken;
  taken.text.resize(max);
  iovec bytes{taken.text.data(), max};
  Rider rider;
  msghdr message = header_of(bytes, rider);
  const ssize_t size = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (size < 0) return Error::from_errno(errno, "take a message");
  taken.fd = descriptor_of(message);
  taken.text.resize(static_cast<size_t>(size));
  taken.is_whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  return taken;
}

}  // namespace base
