// SPDX-License-Identifier: Apache-2.0
// An input instead of the kernel's answers. The linker gives this program's sendmsg, recvmsg and
// recvfrom to the code under test (--wrap), so that nothing is sent, and the answers are the
// messages of the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "netns/namespace.h"

namespace fuzz {

// Uses MESSAGES as the answers from now on: netlink messages, one after the other. A datagram ends
// with an error, with the end of a dump, or after 32 KiB. The number 1 in a message stands for that
// of the current request.
void set_answers(std::string_view messages);

// Returns the namespace of this process.
const netns::Namespace& here();

}  // namespace fuzz
