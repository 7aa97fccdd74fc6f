// SPDX-License-Identifier: Apache-2.0
#include "hook/plain/plain.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>

#include "base/fd.h"
#include "base/fs.h"
#include "base/text.h"
#include "hook/container/request/keys.h"
#include "hook/plain/low_level.h"

namespace hook::plain {
namespace {

// A longer config.json is left to the other program.
constexpr size_t kLongest = size_t{1} << 20;

// Reads the config.json of a bundle.
std::optional<std::string> read_spec(const oci::CommandLine& line) {
  if (line.config_name != "config.json") return std::nullopt;
  const std::string path = (line.bundle.empty() ? "." : line.bundle) + "/config.json";
  // O_NONBLOCK, because it may be a FIFO.
  const base::Result<base::Fd> file = base::open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (!file.ok() || ::fstat(file.value().get(), &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  base::Result<std::string> text = base::read_all(file.value().get(), kLongest, path);
  if (!text.ok()) return std::nullopt;
  return std::move(text).take();
}

bool creates_plainly(const oci::CommandLine& line, const Paths& paths) {
  const std::optional<std::string> spec = read_spec(line);
  if (!spec || request::mentions_ipus(*spec)) return false;
  // What an earlier start with IPUs left in it.
  if (spec->find(paths.run_dir) != std::string::npos) return false;
  return !has_marks(paths.run_dir) || !may_join(*spec);
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
      is_doubtful_ = is_doubtful_ || kOutside.find(text_[at_]) == std::string_view::npos;
      return text_.substr(at_++, 1);
    }
    word_.assign(1, '"');
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && ++at_ < text_.size() && text_[at_] == 'u') is_doubtful_ = true;
      // Such as U+017F, which is an s to runc.
      if (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) >= 0x80) is_doubtful_ = true;
      if (at_ < text_.size() && word_.size() < kLongestWord) word_ += lower(text_[at_]);
    }
    if (at_ < text_.size()) ++at_;
    return word_;
  }

 private:
  static constexpr size_t kLongestWord = 16;
  // Of structures, numbers, true, false and null. Not '/' of a comment, nor another kind of quote.
  static constexpr std::string_view kOutside = "{}[]:,0123456789.+-Etruefalsn";
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  std::string_view text_;
  std::string word_;
  size_t at_ = 0;
  bool is_doubtful_ = false;
};

}  // namespace

std::string marks_dir(const std::string& run_dir) { return run_dir + "/namespaces"; }

bool has_marks(const std::string& run_dir) {
  struct stat status {};
  return ::stat(marks_dir(run_dir).c_str(), &status) == 0;
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

std::string passes_to(const oci::CommandLine& line, const Paths& paths) {
  if (line.saves() || (line.adds() && has_marks(paths.run_dir))) return "";
  std::string runtime = line.creates() ? settled_runtime(paths.run_dir, paths.config_file)
                                       : remembered_runtime(paths.run_dir);
  if (runtime.empty() || !check_runtime(runtime).ok()) return "";
  if (line.creates() && !creates_plainly(line, paths)) return "";
  return runtime;
}

}  // namespace hook::plain
