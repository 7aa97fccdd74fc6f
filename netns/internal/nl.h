// SPDX-License-Identifier: Apache-2.0
// Netlink requests and their exchange with the kernel. This is the only file that includes libnl,
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

// One request under construction: first the fixed header of its family, then attributes. If
// something does not fit, complete() becomes false and the request is never sent.
class Message {
 public:
  // WHAT names the request in errors: "add route to 10.5.1.7".
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
  void put_text(int type, const std::string& text) {  // includes the terminating zero
    put_bytes(type, text.c_str(), text.size() + 1);
  }
  // Puts the attributes that BODY puts into one nest.
  template <typename Body>
  void nest(int type, Body body) {
    nlattr* const start = open_nest(type);
    body();
    close_nest(start);
  }
  // Open and close a nest across two functions. START may be null.
  nlattr* open_nest(int type);
  void close_nest(nlattr* start);

  // Requests an answer on success too. Failures are always answered.
  void request_ack() { raw()->nlmsg_flags |= NLM_F_ACK; }
  // Treats an answer with this errno as success.
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

// The attributes of a reply. An attribute that is absent, or shorter than its type, has no value.
class Attributes {
 public:
  Attributes(const nlmsghdr& reply, int header_size, int max_type);
  // The attributes in one attribute.
  [[nodiscard]] Attributes nested(int type, int max_type) const;
  [[nodiscard]] std::optional<uint32_t> u32(int type) const;
  [[nodiscard]] std::string text(int type) const;
  [[nodiscard]] std::span<const uint8_t> bytes(int type) const;

 private:
  explicit Attributes(int max_type) : table_(static_cast<size_t>(max_type) + 1) {}
  std::vector<nlattr*> table_;
};

// Returns the error of a failed request. KERNEL_TEXT is the kernel's own explanation, and may be
// empty.
base::Error nl_error(int err, std::string_view what, std::string_view kernel_text);

// A netlink socket of one namespace, for one thread.
class Socket {
 public:
  using OnReply = std::function<void(const nlmsghdr&)>;

  // PROTOCOL is NETLINK_ROUTE or NETLINK_NETFILTER.
  static base::Result<Socket> open(const Namespace& in, int protocol);
  // Opens one socket for each of PROTOCOLS, in one visit to the namespace.
  static base::Result<std::vector<Socket>> open_all(const Namespace& in,
                                                    const std::vector<int>& protocols);

  // Sends BATCH as one datagram. Returns after the kernel has done all of it, or returns the error
  // of the first failed request; requests after that one may have been done too. Answers other than
  // acknowledgements go to ON_REPLY. A batch in which nothing requests an acknowledgement is a
  // question, whose last request has one reply or is a dump.
  base::Status exchange(std::span<Message> batch, const OnReply& on_reply);
  base::Status exchange(std::span<Message> batch);
  base::Status exchange(Message& request) { return exchange(std::span(&request, 1)); }
  base::Status exchange(Message& request, const OnReply& on_reply) {
    return exchange(std::span(&request, 1), on_reply);
  }

 private:
  explicit Socket(base::Fd fd) : fd_(std::move(fd)) {}
  base::Status set_up();
  base::Status make_room(size_t bytes);
  base::Status send(std::span<Message> batch);
  base::Result<size_t> receive(std::span<char> buffer);
  base::Fd fd_;
  uint32_t sequence_ = 0;  // number of the last request
};

}  // namespace netns::nl
