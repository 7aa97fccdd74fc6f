// SPDX-License-Identifier: Apache-2.0
// Tells when somebody removes the host's tables, such as `nft flush ruleset`, which a reload of
// Debian's nftables.service runs.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "netns/namespace.h"

namespace netns {

class FilterWatch {
 public:
  static base::Result<FilterWatch> open(const Namespace& host);
  // Readable when the rules of the namespace have changed.
  [[nodiscard]] int fd() const { return socket_.get(); }
  enum class Seen { kNothing, kRemoval };
  // Reads all that has come, without waiting. kRemoval: something of the border (border.h) or of
  // the guard (guard.h) was removed, or may have been, because more came than the kernel keeps.
  base::Result<Seen> read();

 private:
  explicit FilterWatch(base::Fd socket) : socket_(std::move(socket)) {}
  base::Fd socket_;
};

}  // namespace netns
