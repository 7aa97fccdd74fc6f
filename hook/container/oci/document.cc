// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/document.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/fold.h"
#include "hook/container/oci/spec.h"

namespace hook::oci {
namespace {

using namespace base::names;
using base::Json;

constexpr std::string_view kWhat = "config.json";

// A place in the document that the product reads or changes.
struct Place {
  std::string_view path;  // "process.env"; empty: the document
  Json::value_t type;
  std::string_view keys;  // that the product reads or writes there; in a list, those of each item
};

constexpr auto kObject = Json::value_t::object;
constexpr auto kArray = Json::value_t::array;

// Parents come before their children, so that a parent has the type that its children need.
constexpr std::array<Place, 17> kPlaces = {{
    {"", kObject, "process root mounts annotations hooks linux"},
    {"process", kObject, "env rlimits capabilities"},
    {"process.env", kArray, ""},
    {"process.rlimits", kArray, "type hard soft"},
    {"process.capabilities", kObject, "bounding effective inheritable permitted ambient"},
    {"root", kObject, "path"},
    {"mounts", kArray, "destination type source options"},
    {"annotations", kObject, ""},
    {"hooks", kObject, "createRuntime poststop"},
    {"hooks.createRuntime", kArray, "path args env timeout"},
    {"hooks.poststop", kArray, "path args env timeout"},
    {"linux", kObject, "namespaces devices resources"},
    {"linux.namespaces", kArray, "type path"},
    {"linux.devices", kArray, "path type major minor fileMode uid gid"},
    {"linux.resources", kObject, "devices rdma"},
    {"linux.resources.devices", kArray, "allow type major minor access"},
    {"linux.resources.rdma", kObject, ""},
}};

// Refuses a key that is one of KEYS for runc and another for crun, which knows only one spelling.
Status check_spelling(const Json& object, std::string_view keys) {
  if (!object.is_object() || keys.empty()) return {};
  const std::vector<std::string_view> names = base::split(keys, ' ');
  for (const auto& [found, value] : object.items()) {
    if (std::find(names.begin(), names.end(), found) != names.end()) continue;
    for (const std::string_view name : names) {
      if (folded(found) != folded(name)) continue;
      return Error(Code::kInvalid,
                   str(kWhat, ": key ", base::quote(found), " must be written '", name, "'"));
    }
  }
  return {};
}

// Returns the value at PATH; null if it is absent.
const Json& value_at(const Json& root, std::string_view path) {
  static const Json kNull;
  const Json* at = &root;
  if (path.empty()) return root;
  for (const std::string_view name : base::split(path, '.')) {
    const auto child = at->is_object() ? at->find(std::string(name)) : at->end();
    if (child == at->end()) return kNull;
    at = &*child;
  }
  return *at;
}

Status check(const Json& root, const Place& place) {
  const Json& value = value_at(root, place.path);
  const bool is_document = place.path.empty();
  if (value.is_null() && !is_document) return {};
  if (value.type() != place.type) {
    return Error(Code::kInvalid, str(kWhat, is_document ? "" : ": key " + base::quote(place.path),
                                     " must be ", place.type == kObject ? "an object" : "a list"));
  }
  if (value.is_object()) return check_spelling(value, place.keys);
  if (place.keys.empty()) return {};
  for (const Json& item : value) TRY(check_spelling(item, place.keys));
  return {};
}

}  // namespace

Result<Json> parse_document(std::string_view text) {
  if (text.size() > kMaxSpecBytes) {
    return Error(Code::kInvalid, str(kWhat, ": longer than ", kMaxSpecBytes, " bytes"));
  }
  Json json = TRY(base::parse_json(text, kWhat));
  for (const Place& place : kPlaces) TRY(check(json, place));
  return json;
}

std::string clean_path(const std::string& destination) {
  std::string path = std::filesystem::path("/" + destination).lexically_normal();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace hook::oci
