// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/document.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/spec.h"

namespace hook::oci {
namespace {

using namespace base::names;
using base::Json;

constexpr std::string_view kWhat = "config.json";

struct Key {
  std::string_view path;  // "process.env"
  Json::value_t type;
};

constexpr auto kObject = Json::value_t::object;
constexpr auto kArray = Json::value_t::array;

// Every key that the product reads or changes. Parents come before their children.
constexpr std::array<Key, 16> kTouched = {{{"process", kObject},
                                           {"root", kObject},
                                           {"process.env", kArray},
                                           {"process.rlimits", kArray},
                                           {"process.capabilities", kObject},
                                           {"mounts", kArray},
                                           {"annotations", kObject},
                                           {"hooks", kObject},
                                           {"hooks.createRuntime", kArray},
                                           {"hooks.poststop", kArray},
                                           {"linux", kObject},
                                           {"linux.namespaces", kArray},
                                           {"linux.devices", kArray},
                                           {"linux.resources", kObject},
                                           {"linux.resources.devices", kArray},
                                           {"linux.resources.rdma", kObject}}};

bool same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// Returns the object with the last part of PATH, or null if an earlier part is absent.
const Json* parent_of(const Json& root, std::string_view path) {
  const Json* at = &root;
  for (size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    const auto child = at->find(std::string(path.substr(0, dot)));
    if (child == at->end() || !child->is_object()) return nullptr;
    at = &*child;
    path.remove_prefix(dot + 1);
  }
  return at;
}

Status check(const Json& root, const Key& key) {
  const Json* parent = parent_of(root, key.path);
  if (parent == nullptr) return {};
  const std::string_view name = key.path.substr(key.path.rfind('.') + 1);
  for (const auto& [found, value] : parent->items()) {
    if (!same_but_for_case(found, name)) continue;
    if (found != name) {
      return Error(Code::kInvalid, str(kWhat, ": key '", found, "' must be written '", name, "'"));
    }
    if (value.type() != key.type && !value.is_null()) {
      return Error(Code::kInvalid, str(kWhat, ": key '", key.path, "' must be ",
                                       key.type == kObject ? "an object" : "a list"));
    }
  }
  return {};
}

}  // namespace

Result<Json> parse_document(std::string_view text) {
  if (text.size() > kMaxSpecBytes) {
    return Error(Code::kInvalid, str(kWhat, ": longer than ", kMaxSpecBytes, " bytes"));
  }
  Json json = TRY(base::parse_json(text, kWhat));
  if (!json.is_object()) return Error(Code::kInvalid, str(kWhat, ": must be an object"));
  for (const Key& key : kTouched) TRY(check(json, key));
  return json;
}

}  // namespace hook::oci
