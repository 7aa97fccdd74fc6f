// SPDX-License-Identifier: Apache-2.0
// Netlink requests, and the exchange of them with the kernel. The only file that includes libnl,
// which builds and reads the attributes.
#pragma once

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "netns/namespace.h"

namespace netns::nl {

template <auto fn>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    fn(object);
  }
};
using MessagePtr = std::unique_ptr<nl_msg, Free<nlmsg_free>>;

// One request under construction: the fixed header of its family first, then attributes. What does
// not fit is remembered, and such a request is never sent.
class Message {
 public:
  // WHAT the request does, for its error: "add route to 10.5.1.7".
  Message(int type, int flags, std::string what, size_t capacity = 4096);

  template <typename Header>
  void header(const Header& header) {
    static_assert(std::is_trivially_copyable_v<Header>);
    check(nlmsg_append(message_.get(), const_cast<Header*>(&header), sizeof header, NLMSG_ALIGNTO));
  }
  void put_bytes(int type, const void* data, size_t size);
  void put_u8(int type, uint8_t value) { put_bytes(type, &value, sizeof value); }
  void put_u16(int type, uint16_t value) { put_bytes(type, &value, sizeof value); }
  void put_u32(int type, uint32_t value) { put_bytes(type, &value, sizeof value); }
  void put_s32(int type, int32_t value) { put_bytes(type, &value, sizeof value); }
  void put_be32(int type, uint32_t value);
  void put_text(int type, const std::string& text) {  // with its terminating zero
    put_bytes(type, text.c_str(), text.size() + 1);
  }
  // The attributes that BODY puts, as one.
  template <typename Body>
  void nest(int type, Body body) {
    nlattr* const start = open_nest(type);
    body();
    close_nest(start);
  }
  // For a nest whose ends are in two functions. START may be null.
  nlattr* open_nest(int type);
  void close_nest(nlattr* start);

  // Ask for an answer also on success. Failures are answered always.
  void request_ack() { raw()->nlmsg_flags |= NLM_F_ACK; }
  // An answer with this errno is as good as success.
  void tolerate(int err) { tolerated_.push_back(err); }
  [[nodiscard]] bool tolerates(int err) const {
    return std::find(tolerated_.begin(), tolerated_.end(), err) != tolerated_.end();
  }
  [[nodiscard]] nlmsghdr* raw() const { return nlmsg_hdr(message_.get()); }
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  void check(int result) { complete_ = complete_ && result >= 0; }
  MessagePtr message_;
  std::string what_;
  std::vector<int> tolerated_;
  bool complete_ = true;
};

// The attributes of a reply. One that is absent, or shorter than its type, has no value.
class Attributes {
 public:
  Attributes(const nlmsghdr& reply, int header_size, int max_type);
  [[nodiscard]] std::optional<uint32_t> u32(int type) const;
  [[nodiscard]] std::string text(int type) const;
  [[nodiscard]] std::span<const uint8_t> bytes(int type) const;

 private:
  std::vector<nlattr*> table_;
};

// The error of a failed request. KERNEL_TEXT is the kernel's own explanation, and may be empty.
base::Error nl_error(int err, std::string_view what, std::string_view kernel_text);

// A netlink socket of one namespace, for one thread.
class Socket {
 public:
  using OnReply = std::function<void(const nlmsghdr&)>;

  // PROTOCOL is NETLINK_ROUTE or NETLINK_NETFILTER.
  static base::Result<Socket> open(const Namespace& in, int protocol);

  // Sends BATCH as one datagram. Returns when the kernel has done all of it, or the error of the
  // first request that failed; those after it may have been done too. Answers other than
  // acknowledgements go to ON_REPLY.
  base::Status exchange(std::span<Message> batch, const OnReply& on_reply);
  base::Status exchange(std::span<Message> batch);
  base::Status exchange(Message& request) { return exchange(std::span(&request, 1)); }
  base::Status exchange(Message& request, const OnReply& on_reply) {
    return exchange(std::span(&request, 1), on_reply);
  }

 private:
  explicit Socket(base::Fd fd) : fd_(std::move(fd)) {}
  base::Status send(std::span<Message> batch);
  base::Result<size_t> receive(std::span<char> buffer);
  base::Fd fd_;
  uint32_t sequence_ = 0;  // of the last request
};

}  // namespace netns::nl
