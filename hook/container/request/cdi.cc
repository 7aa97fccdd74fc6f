// SPDX-License-Identifier: Apache-2.0
#include "hook/container/request/cdi.h"

#include <algorithm>
#include <vector>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/request/keys.h"
#include "hook/container/request/request.h"

namespace hook::request {
namespace {

using namespace base::names;
using base::Json;

constexpr size_t kShownArgument = 200;  // characters of an argument in an error

struct Asked {
  std::string key;
  std::string value;
};

Result<Asked> parse_asked(const std::string& argument) {
  const size_t equals = argument.find('=');
  const bool is_key = argument.starts_with(kAnnotationPrefix) && equals != std::string::npos;
  if (is_key) return Asked{argument.substr(0, equals), argument.substr(equals + 1)};
  return Error(Code::kInvalid, str("the CDI hook's argument ",
                                   base::quote(base::one_line(argument, kShownArgument)),
                                   " is no request; write the CDI files anew with 'ipuctl cdi"
                                   " generate'"));
}

// Whether the hook ENTRY is of our program, wherever it was installed when the file was written.
bool is_ours(const Json& entry) {
  const auto path = entry.is_object() ? entry.find("path") : entry.end();
  return entry.is_object() && path != entry.end() && path->is_string() &&
         path->get<std::string>().ends_with("/ipu-container-hook");
}

// Returns what the hook ENTRY asks for: its arguments behind the option.
Result<std::vector<Asked>> asked_by(const Json& entry) {
  std::vector<Asked> asked;
  const auto args = is_ours(entry) ? entry.find("args") : entry.end();
  if (!is_ours(entry) || args == entry.end() || !args->is_array()) return asked;
  auto argument = std::find(args->begin(), args->end(), kCdiOption);
  for (; argument != args->end(); ++argument) {
    if (*argument == kCdiOption) continue;
    asked.push_back(TRY(parse_asked(argument->is_string() ? argument->get<std::string>() : "")));
  }
  return asked;
}

Error contradict(const std::string& key, const std::string& one, const std::string& other) {
  return Error(Code::kInvalid,
               str("the CDI devices of the container contradict each other: they mean ", key, "=",
                   base::quote(one), " and ", base::quote(other), "; name one of them"));
}

Result<std::string> both_cards(const std::string& one, const std::string& other) {
  // Files of earlier versions have it.
  if (one == "all" || other == "all") {
    return Error(Code::kInvalid,
                 "the CDI device 'all' has every card; name no other card or group beside it");
  }
  std::string cards = str(one, ',', other);
  std::vector<std::string_view> numbers = base::split(cards, ',');
  std::sort(numbers.begin(), numbers.end());
  const auto twice = std::adjacent_find(numbers.begin(), numbers.end());
  if (twice == numbers.end()) return cards;
  return Error(Code::kInvalid,
               str("the CDI devices of the container have card ", *twice,
                   " twice; name each card once, by its number, its group or 'all'"));
}

Status add(const Asked& asked, std::map<std::string, std::string>& all) {
  const auto [there, is_new] = all.try_emplace(asked.key, asked.value);
  if (is_new) return {};
  if (asked.key == annotation_of("IPU_VISIBLE_DEVICES")) {
    there->second = TRY(both_cards(there->second, asked.value));
    return {};
  }
  if (there->second == asked.value) return {};
  return contradict(asked.key, there->second, asked.value);
}

}  // namespace

Result<std::map<std::string, std::string>> with_cdi(
    std::string_view config, std::map<std::string, std::string> annotations) {
  if (config.find(str('"', kCdiOption, '"')) == std::string_view::npos) return annotations;
  const Json document = TRY(base::parse_json(config, "config.json"));
  if (!document.is_object() || !document.contains("hooks")) return annotations;
  const auto hooks = document.find("hooks");
  if (!hooks->is_object()) return annotations;
  const auto entries = hooks->find("createRuntime");
  if (entries == hooks->end() || !entries->is_array()) return annotations;
  std::map<std::string, std::string> all;
  for (const Json& entry : *entries) {
    const std::vector<Asked> asked = TRY(asked_by(entry));
    for (const Asked& each : asked) TRY(add(each, all));
  }
  for (const auto& [key, value] : all) {
    const auto [there, is_new] = annotations.try_emplace(key, value);
    if (is_new || there->second == value) continue;
    return Error(Code::kInvalid, str("the annotation ", key, "=", base::quote(there->second),
                                     " contradicts a CDI device of the container, which means ",
                                     base::quote(value), "; leave one of them out"));
  }
  return annotations;
}

}  // namespace hook::request
