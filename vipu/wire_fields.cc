// SPDX-License-Identifier: Apache-2.0
#include "vipu/wire_fields.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace vipu::wire {

using namespace base::names;
using base::Json;

Result<Fields> Fields::open(const Json& object, std::string name) {
  if (!object.is_object()) return Error(Code::kInvalid, str(name, ": is not a JSON object"));
  return Fields(&object, std::move(name));
}

const Json* Fields::find(const char* key) const {
  const auto at = object_->find(key);
  return at == object_->end() ? nullptr : &*at;
}

Error Fields::wrong(const char* key, std::string_view expected) const {
  return Error(Code::kInvalid, str(name_, ": key '", key, "' is not ", expected));
}

Result<std::string> Fields::text(const char* key, size_t max) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_string()) return wrong(key, "a string");
  const std::string& text = value->get_ref<const std::string&>();
  if (!is_plain_text(text, max)) {
    return wrong(key, str("at most ", max, " bytes without control characters"));
  }
  return text;
}

Result<uint32_t> Fields::number(const char* key, uint32_t min, uint32_t max) const {
  const Json* value = find(key);
  const bool fits = value != nullptr && value->is_number_unsigned() &&
                    value->get<uint64_t>() >= min && value->get<uint64_t>() <= max;
  if (!fits) return wrong(key, str("a whole number from ", min, " to ", max));
  return value->get<uint32_t>();
}

Result<int64_t> Fields::large_number(const char* key, int64_t max) const {
  const Json* value = find(key);
  const bool fits = value != nullptr && value->is_number_unsigned() &&
                    value->get<uint64_t>() <= static_cast<uint64_t>(max);
  if (!fits) return wrong(key, str("a whole number from 0 to ", max));
  return value->get<int64_t>();
}

Result<double> Fields::part(const char* key) const {
  const Json* value = find(key);
  const bool is_number = value != nullptr && value->is_number();
  const double number = is_number ? value->get<double>() : -1;
  if (number >= 0 && number <= 1) return number;  // NaN is not
  return wrong(key, "a number from 0 to 1");
}

Result<Flag> Fields::flag(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_boolean()) return wrong(key, "true or false");
  return value->get<bool>() ? Flag::kYes : Flag::kNo;
}

Result<size_t> Fields::choice(const char* key, const std::vector<std::string>& names) const {
  const Json* value = find(key);
  const auto at = value == nullptr || !value->is_string()
                      ? names.end()
                      : std::find(names.begin(), names.end(), value->get<std::string>());
  if (at == names.end()) return wrong(key, str("one of ", base::join(names, ", ")));
  return static_cast<size_t>(at - names.begin());
}

Result<const Json*> Fields::array(const char* key, size_t max) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_array() || value->size() > max) {
    return wrong(key, str("an array of at most ", max, " elements"));
  }
  return value;
}

Result<const Json*> Fields::object(const char* key, size_t max) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_object() || value->size() > max) {
    return wrong(key, str("an object of at most ", max, " members"));
  }
  return value;
}

Result<std::vector<std::string>> Fields::texts(const char* key, size_t max, size_t max_text) const {
  const Json* values = TRY(array(key, max));
  std::vector<std::string> texts;
  for (const Json& value : *values) {
    if (!value.is_string() || !is_plain_text(value.get_ref<const std::string&>(), max_text)) {
      return wrong(key, str("an array of texts of at most ", max_text, " bytes"));
    }
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

bool is_plain_text(std::string_view text, size_t max) {
  return text.size() <= max && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

bool is_ip_address(const std::string& text) {
  in6_addr address{};
  return text.find('\0') == std::string::npos &&
         (::inet_pton(AF_INET, text.c_str(), &address) == 1 ||
          ::inet_pton(AF_INET6, text.c_str(), &address) == 1);
}

bool is_host_address(const std::string& text) {
  in_addr address{};
  if (::inet_pton(AF_INET, text.c_str(), &address) == 1) {
    const uint32_t block = ntohl(address.s_addr) >> 24;
    return block != 0 && block != 127 && block < 224;
  }
  in6_addr wide{};
  if (::inet_pton(AF_INET6, text.c_str(), &wide) != 1) return false;
  // 2000::/3 is global, fc00::/7 unique local.
  return (wide.s6_addr[0] & 0xe0) == 0x20 || (wide.s6_addr[0] & 0xfe) == 0xfc;
}

bool is_host_and_port(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 253) return false;
  const std::string_view host = text.substr(0, colon);
  const bool known = std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
  return known && base::parse_int<uint16_t>(text.substr(colon + 1), 1, 65535).ok();
}

}  // namespace vipu::wire
