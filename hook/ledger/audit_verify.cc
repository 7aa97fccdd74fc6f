// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/audit_verify.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using base::Json;

struct Line {
  int64_t number = 0;
  std::string time;
  std::string previous;
  std::string hash;
};

Result<Line> parse_line(const std::string& text) {
  const Json json = TRY(base::parse_json(text, "the line"));
  Line line;
  line.number = TRY(base::get_int(json, "number", "the line"));
  line.time = TRY(base::get_string(json, "time", "the line"));
  line.previous = TRY(base::get_string(json, "previous", "the line"));
  line.hash = audit_hash(text);
  return line;
}

class Verifier {
 public:
  Status read(const std::string& file);
  void check_end(const AuditMark& remembered);
  AuditReport take() { return std::move(report_); }

 private:
  [[nodiscard]] std::string why_not(const Line& line) const;
  void add(const Line& line);
  void fail(const std::string& file, int64_t number, const std::string& reason) {
    report_.fault = AuditFault{file, number, reason};
  }

  AuditReport report_;
  std::set<std::string> hashes_;  // of all lines
  std::optional<AuditMark> at_;   // the previous line; while a file repeats lines, the repeated one
  bool starts_file_ = false;
};

// Returns why LINE does not fit; empty if it does.
std::string Verifier::why_not(const Line& line) const {
  if (!at_) return "";
  // Repeated lines are identical, byte for byte, up to the end of the previous file.
  if (starts_file_ && hashes_.contains(line.hash)) return "";
  if (line.previous != at_->hash) {
    return str("its \"previous\" is ", line.previous.substr(0, 12),
               "..., but the hash of the previous line is ", at_->hash.substr(0, 12), "...");
  }
  if (line.number <= at_->number) {
    return str("number ", line.number, " follows number ", at_->number);
  }
  if (at_->number < report_.last.number && !hashes_.contains(line.hash)) {
    return str("the line differs from number ", line.number, " of the previous file");
  }
  return "";
}

void Verifier::add(const Line& line) {
  starts_file_ = false;
  at_ = AuditMark{line.number, line.hash};
  if (!hashes_.insert(line.hash).second) return;
  if (report_.lines == 0) {
    report_.first_time = line.time;
    report_.from_the_start = line.previous == AuditMark().hash;
    hashes_.insert(line.previous);  // the last line of a file that is gone
  }
  ++report_.lines;
  report_.last_time = line.time;
  report_.last = *at_;
}

Status Verifier::read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return Error::from_errno(errno, str("open ", base::quote(file)));
  starts_file_ = true;
  std::string text;
  for (int64_t number = 1; !report_.fault && std::getline(in, text); ++number) {
    if (in.eof()) {
      report_.notes.push_back(
          str(file, " line ", number,
              " is incomplete, because its writer was interrupted; the line is ignored"));
      break;
    }
    const Result<Line> line = parse_line(text);
    const std::string reason = line.ok() ? why_not(line.value()) : line.error().message();
    if (!reason.empty()) {
      fail(file, number, reason);
    } else {
      add(line.value());
    }
  }
  if (in.bad()) return Error::from_errno(errno, str("read ", base::quote(file)));
  // If a file ends within its repeated lines, the next file continues after the last line known.
  if (at_ && at_->number < report_.last.number) at_ = report_.last;
  return {};
}

void Verifier::check_end(const AuditMark& remembered) {
  if (report_.fault || remembered.number == 0 || hashes_.contains(remembered.hash)) return;
  if (report_.last.number < remembered.number) {
    fail("", 0,
         str("the log ends with number ", report_.last.number, ", but the ledger has number ",
             remembered.number, "; the end of the log was cut off, or a file is missing"));
  } else {
    fail(
        "", 0,
        str("number ", remembered.number, " does not have the hash ", remembered.hash.substr(0, 12),
            "... that the ledger recorded; the line was changed, or is missing"));
  }
}

}  // namespace

Result<AuditReport> verify_audit(const std::vector<std::string>& files,
                                 const std::optional<AuditMark>& remembered) {
  Verifier verifier;
  for (const std::string& file : files) TRY(verifier.read(file));
  if (remembered) verifier.check_end(*remembered);
  return verifier.take();
}

std::vector<std::string> audit_files(const std::string& file) {
  std::vector<std::string> files;
  const auto is_there = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  for (int i = 1; is_there(str(file, ".", i)); ++i) files.push_back(str(file, ".", i));
  std::reverse(files.begin(), files.end());
  if (is_there(file)) files.push_back(file);
  return files;
}

}  // namespace hook::ledger
