// SPDX-License-Identifier: Apache-2.0
#include "base/serve.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace base {
namespace {

// Room for one descriptor beside a message.
struct Rider {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int))] = {};
};

msghdr message(iovec& text, Rider& rider) {
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

bool send_answer(int socket, Answer answer) {
  // An empty message would look like the end.
  if (answer.text.empty()) answer.text.push_back(' ');
  iovec text{answer.text.data(), std::min(answer.text.size(), kMaxAnswer)};
  Rider rider;
  msghdr sent = message(text, rider);
  if (answer.fd.valid()) {
    attach(sent, answer.fd.get());
  } else {
    sent.msg_control = nullptr;
    sent.msg_controllen = 0;
  }
  return ::sendmsg(socket, &sent, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

}  // namespace

Result<Answer> ask(int socket, std::string_view question) {
  iovec asked{const_cast<char*>(question.data()), question.size()};
  msghdr sent{};
  sent.msg_iov = &asked;
  sent.msg_iovlen = 1;
  if (::sendmsg(socket, &sent, MSG_NOSIGNAL) < 0) return Error::from_errno(errno, "ask the caller");
  char bytes[kMaxAnswer];
  iovec text{bytes, sizeof bytes};
  Rider rider;
  msghdr got = message(text, rider);
  ssize_t size = -1;
  do {
    size = ::recvmsg(socket, &got, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return Error::from_errno(errno, "hear the caller");
  if (size == 0) return Error(Code::kInternal, "the caller answers no more");
  Answer answer{descriptor_of(got), std::string(bytes, static_cast<size_t>(size))};
  return answer;
}

bool answer_one(int socket, const Serve& serve) {
  char question[kMaxQuestion];
  const ssize_t size = ::recv(socket, question, sizeof question, MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  return send_answer(socket, serve({question, static_cast<size_t>(size)}));
}

}  // namespace base
