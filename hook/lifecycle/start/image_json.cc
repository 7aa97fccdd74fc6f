// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/image_json.h"

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/fold.h"

namespace hook::lifecycle::start {

using namespace base::names;
using base::Json;
using Variables = std::vector<std::string>;

bool is_plain(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

Result<std::string> hex_of(std::string_view digest) {
  const std::string_view hex = digest.starts_with("sha256:") ? digest.substr(7) : "";
  if (is_plain(hex)) return std::string(hex);
  return Error(Code::kInvalid, str(base::quote(digest), " is no digest"));
}

Result<Json> member(const Json& object, const char* key) {
  if (object.is_null()) return Json();
  if (!object.is_object()) return Error(Code::kInvalid, str(key, " is not in an object"));
  const std::string folded_key = oci::folded(key);
  for (const auto& [name, value] : object.items()) {
    if (name != key && oci::folded(name) == folded_key)
      return Error(Code::kInvalid, str(base::quote(name), " is not ", key));
  }
  return object.contains(key) ? object[key] : Json();
}

Result<std::string> text_in(const Json& object, const char* key) {
  const Json text = TRY(member(object, key));
  if (text.is_string()) return text.get<std::string>();
  return Error(Code::kInvalid, str(key, " is not a text"));
}

Result<Variables> variables_in(const Json& file, const char* config) {
  const Json settings = TRY(member(file, config));
  const Json list = TRY(member(settings, "Env"));
  Variables variables;
  for (const Json& variable : list) {
    if (!variable.is_string()) return Error(Code::kInvalid, "a variable must be a text");
    variables.push_back(variable.get<std::string>());
  }
  return variables;
}

Result<std::optional<Json>> read_json(const std::filesystem::path& file, size_t max_bytes) {
  const std::optional<std::string> text = TRY(base::read_file_if_exists(file, max_bytes));
  if (!text) return std::optional<Json>();
  return std::optional<Json>(TRY(base::parse_json(*text, file.string())));
}

}  // namespace hook::lifecycle::start
