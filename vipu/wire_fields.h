// SPDX-License-Identifier: Apache-2.0
// Checked reading of a JSON object from an untrusted writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace vipu::wire {

enum class Flag : bool { kNo, kYes };

// The members of one object. Every reader returns kInvalid, with the object's name and the key, if
// the member is missing, of another type or out of range. Keep the object alive: Fields refers to
// it.
class Fields {
 public:
  static base::Result<Fields> open(const base::Json& object, std::string name);

  // Returns a text of at most MAX bytes without control characters.
  base::Result<std::string> text(const char* key, size_t max) const;
  base::Result<uint32_t> number(const char* key, uint32_t min, uint32_t max) const;
  // Returns a number from 0 to MAX.
  base::Result<int64_t> large_number(const char* key, int64_t max) const;
  // Returns a number from 0 to 1.
  base::Result<double> part(const char* key) const;
  base::Result<Flag> flag(const char* key) const;
  // Returns the index in NAMES of the member's text.
  base::Result<size_t> choice(const char* key, const std::vector<std::string>& names) const;
  base::Result<const base::Json*> array(const char* key, size_t max) const;
  base::Result<const base::Json*> object(const char* key, size_t max) const;
  // Returns an array of at most MAX texts, each of at most MAX_TEXT bytes without control
  // characters.
  base::Result<std::vector<std::string>> texts(const char* key, size_t max, size_t max_text) const;

  [[nodiscard]] bool has(const char* key) const { return object_->contains(key); }
  base::Error wrong(const char* key, std::string_view expected) const;

 private:
  Fields(const base::Json* object, std::string name) : object_(object), name_(std::move(name)) {}
  const base::Json* find(const char* key) const;
  const base::Json* object_;
  std::string name_;
};

// Returns whether TEXT has at most MAX bytes and no control character.
[[nodiscard]] bool is_plain_text(std::string_view text, size_t max);

// Returns whether TEXT is an IPv4 or IPv6 address.
[[nodiscard]] bool is_ip_address(const std::string& text);
// Returns whether TEXT is an IPv4 or IPv6 address that another host can have: IPv4 outside the
// blocks 0, 127 and 224 to 255, or global or unique local IPv6.
[[nodiscard]] bool is_host_address(const std::string& text);

// Returns whether TEXT is "HOST:PORT" with a host name or an IPv4 address, and a port from 1 to
// 65535.
[[nodiscard]] bool is_host_and_port(std::string_view text);

}  // namespace vipu::wire
