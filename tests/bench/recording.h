// SPDX-License-Identifier: Apache-2.0
// What a call sends to the kernel by netlink, byte for byte, and the least that sends it again: the
// floor of that call.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "netns/namespace.h"

enum class Recorded { kAll, kChanges };  // with or without the questions

class Recording {
 public:
  // Records what CALL sends from this thread to route netlink and nf_tables of both namespaces.
  static base::Result<Recording> of(Recorded which, const std::function<base::Status()>& call,
                                    const netns::Namespace& host, const netns::Namespace& target);

  // Sends it to HOST, which is this thread's namespace, and to TARGET in place of the one then.
  [[nodiscard]] base::Status replay(const netns::Namespace& host, const netns::Namespace& target);

  struct Datagram {
    bool is_for_target = false;
    int protocol = 0;
    std::vector<std::byte> bytes;
  };

 private:
  std::vector<Datagram> datagrams_;
};
