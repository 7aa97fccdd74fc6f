// SPDX-License-Identifier: Apache-2.0
#include "hook/passing/passing.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace hook::passing {
namespace {

// A longer config.json is left to the other program.
constexpr size_t kLongest = size_t{1} << 20;

int64_t nanos(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// Reads the config.json of a bundle; empty if there is none that is a plain file of some length.
std::string_view read_spec(const CommandLine& line) {
  static char text[kLongest + 1];
  if (line.config_name != "config.json") return "";
  Text path;
  path.add(line.bundle.empty() ? "." : line.bundle).add("/config.json");
  if (!path.is_whole()) return "";
  // O_NONBLOCK, because it may be a FIFO.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return "";
  struct stat status {};
  size_t size = 0;
  bool is_read = false;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    while (size < sizeof text) {
      const ssize_t got = ::read(file, text + size, sizeof text - size);
      if (got < 0 && errno == EINTR) continue;
      is_read = got == 0;
      if (got <= 0) break;
      size += static_cast<size_t>(got);
    }
  }
  (void)::close(file);
  return is_read ? std::string_view(text, size) : "";
}

bool creates_plainly(const CommandLine& line, const Site& site) {
  const std::string_view spec = read_spec(line);
  if (spec.empty() || may_ask(spec)) return false;
  // What an earlier start with IPUs left in it.
  if (spec.find(site.run_dir) != std::string_view::npos) return false;
  return !has_marks(site.run_dir) || !may_join(spec);
}

// As plain::check_runtime(); in a user namespace, whose root may be another user, it is in doubt.
bool is_runtime(const char* path) {
  struct stat file {};
  struct stat self {};
  if (::stat(path, &file) != 0 || ::stat("/proc/self/exe", &self) != 0) return false;
  const bool is_self = file.st_dev == self.st_dev && file.st_ino == self.st_ino;
  return !is_self && file.st_uid == 0 && is_owners_alone(file);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Reads the tokens of a JSON text that has neither escapes in words nor comments.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  // Returns whether any word was not plain.
  [[nodiscard]] bool is_doubtful() const { return is_doubtful_; }

  // Returns the next token: a word in lower case with its first quote, or one character; empty at
  // the end.
  std::string_view next() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ == text_.size()) return "";
    if (text_[at_] != '"') {
      is_doubtful_ = is_doubtful_ || !is_outside(text_[at_]);
      return text_.substr(at_++, 1);
    }
    size_t size = 0;
    word_[size++] = '"';
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && ++at_ < text_.size() && text_[at_] == 'u') is_doubtful_ = true;
      // Such as U+017F, which is an s to runc.
      if (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) >= 0x80) is_doubtful_ = true;
      if (at_ < text_.size() && size < sizeof word_) word_[size++] = lower(text_[at_]);
    }
    if (at_ < text_.size()) ++at_;
    return {word_, size};
  }

 private:
  static constexpr size_t kLongestWord = 16;
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  // Of structures, numbers, true, false and null. Not '/' of a comment, nor another kind of quote.
  static bool is_outside(char c) {
    return std::string_view("{}[]:,0123456789.+-Etruefalsn").find(c) != std::string_view::npos;
  }

  std::string_view text_;
  char word_[kLongestWord];
  size_t at_ = 0;
  bool is_doubtful_ = false;
};

}  // namespace

bool is_settled(const Site& site, std::string_view runtime) {
  Text link;
  link.add(site.run_dir).add(kChoiceLink);
  Text record;
  record.read_link(link);
  std::string_view rest = record.view();
  if (take_part(rest, kSeparator) != runtime) return false;
  Text state;
  add_state(state, site.config_file.data());
  const std::string_view recorded = take_part(rest, kSeparator);
  if (recorded.empty() || recorded != state.view()) return false;
  if (take_part(rest, kSeparator) != site.version) return false;
  while (!rest.empty()) {
    Text path;
    path.add(take_part(rest, kSeparator));
    if (::access(path.c_str(), F_OK) == 0) return false;
  }
  return true;
}

void add_state(Text& text, const char* path) {
  struct stat link {};
  struct stat file {};
  if (::lstat(path, &link) != 0) {
    if (errno == ENOENT) text.add("absent");
    return;
  }
  // A link in a folder of others may point elsewhere at any time.
  if (!S_ISREG(link.st_mode) || ::stat(path, &file) != 0) return;
  text.add(uint64_t{file.st_dev}).add(".").add(uint64_t{file.st_ino}).add(".");
  text.add(int64_t{file.st_size}).add(".");
  text.add(nanos(file.st_mtim)).add(".").add(nanos(file.st_ctim));
}

bool is_owners_alone(const struct stat& file) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  return S_ISREG(file.st_mode) && (file.st_mode & kOthersWrite) == 0;
}

void add_identity(Text& text, const struct stat& file) {
  text.add(uint64_t{file.st_dev}).add(":").add(uint64_t{file.st_ino});
}

bool has_marks(std::string_view run_dir) {
  Text path;
  path.add(run_dir).add(kMarksDir);
  struct stat status {};
  return !path.is_whole() || ::stat(path.c_str(), &status) == 0;
}

bool may_ask(std::string_view spec) {
  return spec.find("\"graphcore.ai/ipu.") != std::string_view::npos ||
         spec.find("\"IPU_") != std::string_view::npos;
}

bool may_join(std::string_view spec) {
  Words words(spec);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word != "\"namespaces") continue;
    if (words.next() != ":") continue;  // a value
    if (words.next() != "[") return true;
    for (word = words.next(); word != "]"; word = words.next()) {
      const bool is_deeper = word == "[";
      if (word.empty() || is_deeper || word == "\"path") return true;
    }
  }
  return words.is_doubtful();
}

bool passes_to(const CommandLine& line, const Site& site, Text& runtime) {
  if (line.saves() || (line.adds() && has_marks(site.run_dir))) return false;
  Text link;
  link.add(site.run_dir).add(kRuntimeLink);
  runtime.read_link(link);
  if (!runtime.view().starts_with('/') || !is_runtime(runtime.c_str())) return false;
  return !line.creates() || (is_settled(site, runtime.view()) && creates_plainly(line, site));
}

}  // namespace hook::passing
