// SPDX-License-Identifier: Apache-2.0
#include "base/serve.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <utility>

#include "base/descriptor_message.h"

namespace base {
namespace {

bool send_answer(int socket, Answer answer) {
  // An empty message would look like the end.
  if (answer.text.empty()) answer.text.push_back(' ');
  return send_message(socket, std::string_view(answer.text).substr(0, kMaxAnswer), answer.fd.get())
      .ok();
}

}  // namespace

Result<Answer> ask(int socket, std::string_view question) {
  iovec asked{const_cast<char*>(question.data()), question.size()};
  msghdr sent{};
  sent.msg_iov = &asked;
  sent.msg_iovlen = 1;
  if (::sendmsg(socket, &sent, MSG_NOSIGNAL) < 0) return Error::from_errno(errno, "ask the caller");
  for (;;) {
    Result<DescriptorMessage> got = take_message(socket, kMaxAnswer, 0);
    if (!got.ok() && got.error().sys_errno() == EINTR) continue;
    if (!got.ok()) return got.error();
    if (got.value().text.empty()) return Error(Code::kInternal, "the caller answers no more");
    return Answer{std::move(got.value().fd), std::move(got.value().text)};
  }
}

bool answer_one(int socket, const Serve& serve) {
  char question[kMaxQuestion];
  const ssize_t size = ::recv(socket, question, sizeof question, MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  return send_answer(socket, serve({question, static_cast<size_t>(size)}));
}

}  // namespace base
