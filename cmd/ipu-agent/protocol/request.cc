// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/protocol/request.h"

#include <algorithm>

#include "base/json.h"
#include "base/names.h"

namespace agent {
namespace {

using namespace base::names;
using base::Json;

constexpr std::string_view kWhat = "the request";
constexpr size_t kMaxValue = 128;  // the longest id has 64

// A command that users may call. ARGUMENT is the name of its argument; "" if it has none.
struct Served {
  std::string_view command;
  std::string_view argument;
  std::vector<std::string_view> options;
  std::vector<std::string_view> flags = {};
};

const std::vector<Served>& served() {
  static const std::vector<Served> kAll = {
      {"ps", "", {"output", "pool"}},
      {"queue", "", {"output", "pool"}},
      {"queue cancel", "container", {"output", "pool"}, {"all"}},
      {"lease show", "lease", {"output"}},
      {"pool list", "", {"output", "pool"}},
      {"explain", "lease", {"output"}},
      {"reserve", "name", {"ipus", "gcds", "wait", "for", "output", "pool"}},
      {"reservation list", "", {"output", "pool"}},
      {"reservation extend", "name", {"for", "output", "pool"}},
      {"reservation end", "name", {"output", "pool"}, {"force"}},
  };
  return kAll;
}

const Served* find_served(std::string_view command) {
  for (const Served& one : served()) {
    if (one.command == command) return &one;
  }
  return nullptr;
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool takes(const Served& command, std::string_view key) {
  const bool is_argument = !command.argument.empty() && key == command.argument;
  return is_argument || contains(command.options, key) || contains(command.flags, key);
}

bool is_plain(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool is_value(std::string_view text) {
  return !text.empty() && text.size() <= kMaxValue && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), is_plain);
}

Error unknown_command(std::string_view command) {
  std::vector<std::string> names;
  for (const Served& one : served()) names.emplace_back(one.command);
  return {Code::kInvalid, str("ipu-agent does not know the command ", quote(command), "; it knows ",
                              base::join(names, ", "))};
}

Result<std::string> text_of(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return Error(Code::kInvalid, str(kWhat, ": the value of ", quote(key), " is not a text"));
}

// Returns the word for KEY, which COMMAND takes.
Result<std::string> word_of(const Served& command, const std::string& key,
                            const std::string& value) {
  if (contains(command.flags, key)) {
    if (value == "true") return str("--", key);
    return Error(Code::kInvalid, str(kWhat, ": the value of ", quote(key), " must be 'true'"));
  }
  if (!is_value(value)) {
    return Error(Code::kInvalid,
                 str("the value ", quote(value), " of ", quote(key), " must have 1 to ", kMaxValue,
                     " of A-Z, a-z, 0-9, '.', '_' and '-', and must not start with '-'"));
  }
  return key == command.argument ? value : str("--", key, "=", value);
}

// Returns how many of WORDS are COMMAND; 0 if they do not begin with it.
size_t begins_with(const Words& words, std::string_view command) {
  const std::vector<std::string_view> parts = base::split(command, ' ');
  const bool begins =
      words.size() >= parts.size() && std::equal(parts.begin(), parts.end(), words.begin());
  return begins ? parts.size() : 0;
}

bool is_word_of(const Served& command, std::string_view word) {
  if (!word.starts_with("--")) return !command.argument.empty() && is_value(word);
  word.remove_prefix(2);
  if (contains(command.flags, word)) return true;
  const size_t end = word.find('=');
  return end != std::string_view::npos && contains(command.options, word.substr(0, end)) &&
         is_value(word.substr(end + 1));
}

}  // namespace

bool serves(std::string_view command, const Options& options) {
  const Served* const found = find_served(command);
  return found != nullptr && std::all_of(options.begin(), options.end(), [&](const auto& option) {
           return takes(*found, option.first);
         });
}

std::string request_line(std::string_view command, const Options& options) {
  Json json = {{"command", command}};
  for (const auto& [key, value] : options) json[key] = value;
  return base::to_text(json) + "\n";
}

Result<Words> words_of(std::string_view line) {
  const Json json = TRY(base::parse_json(line, kWhat));
  if (!json.is_object()) return Error(Code::kInvalid, "the request is not a JSON object");
  const std::string command = TRY(base::get_string(json, "command", kWhat));
  const Served* const found = find_served(command);
  if (found == nullptr) return unknown_command(command);
  Words words;
  for (const std::string_view word : base::split(command, ' ')) words.emplace_back(word);
  for (const auto& [key, value] : json.items()) {
    if (key == "command") continue;
    if (!takes(*found, key)) {
      return Error(Code::kInvalid, str("ipu-agent takes no ", quote(key), " for ", quote(command),
                                       "; root may give it to ipuctl"));
    }
    const std::string text = TRY(text_of(key, value));
    words.push_back(TRY(word_of(*found, key, text)));
  }
  return words;
}

Status check_words(const Words& words) {
  const Served* best = nullptr;
  size_t length = 0;
  for (const Served& one : served()) {
    if (begins_with(words, one.command) <= length) continue;
    best = &one;
    length = begins_with(words, one.command);
  }
  const Error denied(Code::kDenied, "these words are no request that ipu-agent serves");
  if (best == nullptr) return denied;
  size_t arguments = 0;
  for (size_t i = length; i < words.size(); ++i) {
    if (!is_word_of(*best, words[i])) return denied;
    if (!words[i].starts_with("--")) ++arguments;
  }
  if (arguments > 1) return denied;
  return {};
}

}  // namespace agent
