// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/door/hand_over.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/names.h"

namespace agent {
namespace {

using namespace base::names;

// The words of a line are not much longer than the line.
constexpr size_t kMaxMessage = 2 * kMaxRequest;

// Room for one descriptor beside a message.
struct Enclosed {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int))] = {};
};

msghdr message_of(iovec& text, Enclosed& enclosed) {
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = enclosed.bytes;
  message.msg_controllen = sizeof enclosed.bytes;
  return message;
}

base::Fd enclosed_in(msghdr& message) {
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  const bool has_one = header != nullptr && header->cmsg_level == SOL_SOCKET &&
                       header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int));
  if (!has_one) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return base::Fd(fd);
}

}  // namespace

Status hand_over(int socket, const Words& words, int user) {
  std::string text = base::join(words, "\n");
  iovec sent{text.data(), text.size()};
  Enclosed enclosed;
  msghdr message = message_of(sent, enclosed);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof user);
  std::memcpy(CMSG_DATA(header), &user, sizeof user);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
  if (errno == EAGAIN) return Error(Code::kBusy, "ipu-agent has too much to do; try again");
  return Error::from_errno(errno, "pass a request on");
}

Result<HandedOver> take_over(int socket) {
  char bytes[kMaxMessage];
  iovec taken{bytes, sizeof bytes};
  Enclosed enclosed;
  msghdr message = message_of(taken, enclosed);
  const ssize_t size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Error(Code::kBusy, "no request");
  if (size < 0) return Error::from_errno(errno, "take a request");
  if (size == 0) return Error(Code::kUnavailable, "the process that reads requests has ended");
  HandedOver request{{}, enclosed_in(message)};
  const bool is_whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  if (!is_whole || !request.user.valid()) return Error(Code::kInvalid, "take a request: odd");
  for (const std::string_view word : base::split({bytes, static_cast<size_t>(size)}, '\n'))
    request.words.emplace_back(word);
  return request;
}

}  // namespace agent
