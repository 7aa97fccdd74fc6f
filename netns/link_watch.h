// SPDX-License-Identifier: Apache-2.0
// Tells when an interface of the host gets another name or another MAC, as by udev or by the
// failover of a bond. The border (border.h) knows its parents by both.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

class LinkWatch {
 public:
  static base::Result<LinkWatch> open(const Namespace& host);
  // Readable when something about the interfaces of the namespace has changed.
  [[nodiscard]] int fd() const { return socket_.get(); }
  enum class Seen { kNothing, kChange };
  // Reads all that has come, without waiting. kChange: an interface that was there before has
  // another name or MAC, or may have, because more came than the kernel keeps.
  base::Result<Seen> read();

 private:
  explicit LinkWatch(base::Fd socket) : socket_(std::move(socket)) {}
  base::Fd socket_;
  std::map<uint32_t, std::pair<std::string, MacAddress>> known_;  // by index
};

}  // namespace netns
