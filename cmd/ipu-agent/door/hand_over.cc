// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/door/hand_over.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/descriptor_message.h"
#include "base/names.h"

namespace agent {
namespace {

using namespace base::names;

// The words of a line are not much longer than the line.
constexpr size_t kMaxMessage = 2 * kMaxRequest;

}  // namespace

Status hand_over(int socket, const Words& words, int user) {
  Status sent = base::send_message(socket, base::join(words, "\n"), user);
  if (sent.ok() || sent.error().sys_errno() != EAGAIN) return sent;
  return Error(Code::kBusy, "ipu-agent has too much to do; try again");
}

Result<HandedOver> take_over(int socket) {
  Result<base::DescriptorMessage> taken = base::take_message(socket, kMaxMessage, MSG_DONTWAIT);
  const int err = taken.ok() ? 0 : taken.error().sys_errno();
  if (err == EAGAIN || err == EINTR) return Error(Code::kBusy, "no request");
  base::DescriptorMessage message = TRY(std::move(taken));
  if (message.text.empty())
    return Error(Code::kUnavailable, "the process that reads requests has ended");
  HandedOver request{{}, std::move(message.fd)};
  if (!message.is_whole || !request.user.valid())
    return Error(Code::kInvalid, "take a request: odd");
  for (const std::string_view word : base::split(message.text, '\n'))
    request.words.emplace_back(word);
  return request;
}

}  // namespace agent
