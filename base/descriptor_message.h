// SPDX-License-Identifier: Apache-2.0
// Messages of a unix socket that keeps their borders, with a descriptor beside them.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace base {

struct DescriptorMessage {
  Fd fd = {};  // invalid: there was none
  std::string text = {};
  bool is_whole = true;  // false: it was longer, or had more descriptors
};

// Sends TEXT, with FD beside it unless that is negative. Never waits: the error has EAGAIN if there
// is no room.
Status send_message(int socket, std::string_view text, int fd);

// Takes one message of at most MAX bytes with these flags of recvmsg(2). The text is empty if the
// other side has gone.
Result<DescriptorMessage> take_message(int socket, size_t max, int flags);

}  // namespace base
