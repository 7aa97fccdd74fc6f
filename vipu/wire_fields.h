// SPDX-License-Identifier: Apache-2.0
// Checked reading of the members of a JSON object whose writer is not trusted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace vipu::wire {

enum class Flag : bool { kNo, kYes };

// The members of one object. Every reader gives kInvalid with the name of the object and the key if
// the member is missing, of another type or out of range. Refers to the object: keep that alive.
class Fields {
 public:
  static base::Result<Fields> open(const base::Json& object, std::string name);

  // Text of at most MAX bytes without control characters.
  base::Result<std::string> text(const char* key, size_t max) const;
  base::Result<uint32_t> number(const char* key, uint32_t min, uint32_t max) const;
  base::Result<Flag> flag(const char* key) const;
  // One of NAMES, as its place among them.
  base::Result<size_t> choice(const char* key, const std::vector<std::string>& names) const;
  base::Result<const base::Json*> array(const char* key, size_t max) const;
  base::Result<const base::Json*> object(const char* key, size_t max) const;
  // An array of at most MAX texts, each of at most MAX_TEXT bytes without control characters.
  base::Result<std::vector<std::string>> texts(const char* key, size_t max, size_t max_text) const;

  [[nodiscard]] bool has(const char* key) const { return object_->contains(key); }
  base::Error wrong(const char* key, std::string_view expected) const;

 private:
  Fields(const base::Json* object, std::string name) : object_(object), name_(std::move(name)) {}
  const base::Json* find(const char* key) const;
  const base::Json* object_;
  std::string name_;
};

// Whether TEXT is at most MAX bytes long and has no control character.
[[nodiscard]] bool is_plain_text(std::string_view text, size_t max);

// Whether TEXT is an IPv4 address.
[[nodiscard]] bool is_address(const std::string& text);
// Whether TEXT is an IPv4 or IPv6 address that another host can have: not of the IPv4 blocks 0, 127
// and 224 to 255, and a global or unique local one of IPv6.
[[nodiscard]] bool is_host_address(const std::string& text);

// "HOST:PORT" with a host name or an IPv4 address, and a port from 1 to 65535.
[[nodiscard]] bool is_host_and_port(std::string_view text);

}  // namespace vipu::wire
