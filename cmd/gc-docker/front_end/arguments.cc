// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/arguments.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/names.h"
#include "base/text.h"
#include "cmd/gc-docker/front_end/docker_arguments.h"

namespace front {
namespace {

using namespace base::names;

constexpr uint32_t kMaxNumber = 65536;

// The words of a command line, one after the other.
class Words {
 public:
  // SHORT_ONES: whether -d is short for --device-id.
  Words(const std::vector<std::string>& words, bool short_ones)
      : words_(words), short_ones_(short_ones) {}

  [[nodiscard]] bool is_next(std::string_view word) const {
    return at_ < words_.size() && words_[at_] == word;
  }
  bool take(std::string_view word) {
    const bool is_there = is_next(word);
    if (is_there) ++at_;
    return is_there;
  }
  // Returns whether "-d NUMBER" is next.
  [[nodiscard]] bool is_short_device() const {
    return short_ones_ && is_next("-d") && at_ + 1 < words_.size() && !words_[at_ + 1].empty() &&
           words_[at_ + 1].find_first_not_of("0123456789") == std::string::npos;
  }
  // Takes "OPTION=VALUE" or "OPTION VALUE". Returns nothing if another word is next.
  Result<std::optional<std::string>> take_value(std::string_view option) {
    if (at_ == words_.size() || !words_[at_].starts_with(option)) return absent();
    const std::string& word = words_[at_];
    if (word.size() > option.size()) {
      if (word[option.size()] != '=') return absent();
      ++at_;
      return std::optional<std::string>(word.substr(option.size() + 1));
    }
    if (at_ + 1 == words_.size()) {
      return Error(Code::kInvalid, str(option, " needs a number, such as '", option, " 4'"));
    }
    at_ += 2;
    return std::optional<std::string>(words_[at_ - 1]);
  }
  [[nodiscard]] std::vector<std::string> rest() const {
    return {words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end()};
  }

 private:
  static std::optional<std::string> absent() { return std::nullopt; }

  const std::vector<std::string>& words_;
  bool short_ones_;
  size_t at_ = 0;
};

Result<uint32_t> parse_device_id(const std::string& text) {
  const Result<uint32_t> number = base::parse_int<uint32_t>(text, 0, kMaxNumber);
  if (number.ok()) return number;
  return Error(Code::kInvalid, str("--device-id ", base::quote(text),
                                   " is not a device id: give one number, from 0; the option may"
                                   " be repeated"));
}

Result<uint32_t> parse_count(const std::string& text) {
  const Result<uint32_t> number = base::parse_int<uint32_t>(text, 1, kMaxNumber);
  if (number.ok() && std::has_single_bit(number.value())) return number;
  if (!number.ok()) {
    return Error(Code::kInvalid, str("--count ", base::quote(text), " is not a number of IPUs:",
                                     " give a power of two, such as --count 4"));
  }
  const uint32_t below = std::bit_floor(number.value());
  return Error(Code::kInvalid, str("--count ", text, " is not a power of two; give --count ", below,
                                   " or --count ", 2 * below));
}

// These return whether they took a word.
Result<bool> take_switch(Words& words, FrontEndArguments& parsed) {
  if (words.take("--echo")) {
    parsed.echo = true;
  } else if (words.take("--host-network")) {
    parsed.host_network = true;
  } else if (words.take("--help")) {
    parsed.help = true;
  } else if (words.take("--version")) {
    parsed.version = true;
  } else {
    return false;
  }
  return true;
}

Result<bool> take_option(Words& words, FrontEndArguments& parsed) {
  const std::optional<std::string> id =
      TRY(words.take_value(words.is_short_device() ? "-d" : "--device-id"));
  if (id) {
    const uint32_t number = TRY(parse_device_id(*id));
    parsed.device_ids.push_back(number);
    return true;
  }
  const std::optional<std::string> count = TRY(words.take_value("--count"));
  if (count) {
    parsed.count = TRY(parse_count(*count));
    return true;
  }
  return take_switch(words, parsed);
}

Status check_together(const FrontEndArguments& parsed) {
  if (parsed.count && !parsed.device_ids.empty()) {
    return Error(Code::kInvalid,
                 "--count and --device-id cannot be combined; give only one of them");
  }
  if (parsed.count && parsed.host_network) {
    return Error(Code::kInvalid,
                 "--count and --host-network cannot be combined, because a container with"
                 " --host-network is not isolated; give only one of them");
  }
  return {};
}

// Returns whether only options stand before "--".
bool has_only_options(const std::vector<std::string>& words) {
  size_t end = 0;
  for (const DockerOption& option : read_docker_arguments(words).options) {
    end = option.at + option.words;
    if (words[end - 1] == "--") return true;  // taken for the value of an option that nobody has
  }
  return end > 0 && end < words.size() && words[end] == "--";
}

// Refuses options of docker that stand before "--", and those that nobody has.
Status check_options_before(const std::vector<std::string>& words) {
  if (!has_only_options(words)) return {};
  return Error(Code::kInvalid,
               str(base::quote(words.front()), " is not one of the options that may stand before",
                   " '--', --count, --device-id, --host-network and --echo; give the options of",
                   " 'run' after '--'"));
}

}  // namespace

Result<FrontEndArguments> parse_front_end(const std::vector<std::string>& args) {
  FrontEndArguments parsed;
  // docker's -d takes no number, and stands behind '--'.
  const bool has_end = std::find(args.begin(), args.end(), "--") != args.end();
  Words words(args, has_end);
  bool run = false;  // only the first one: an image may have this name
  for (;;) {
    const bool took = TRY(take_option(words, parsed));
    if (took) continue;
    if (run || !words.take("run")) break;
    run = true;
  }
  const bool is_at_end = words.take("--");
  if (is_at_end && !run) words.take("run");
  parsed.docker = words.rest();
  if (parsed.help || parsed.version) return parsed;
  if (!is_at_end && !run) TRY(check_options_before(parsed.docker));
  TRY(check_together(parsed));
  if (parsed.docker.empty()) {
    return Error(Code::kInvalid, "no image is given; append '-- [DOCKER-RUN-OPTION]... IMAGE'");
  }
  return parsed;
}

}  // namespace front
