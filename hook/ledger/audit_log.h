// SPDX-License-Identifier: Apache-2.0
// The audit log: JSON lines beside the ledger, each with the hash of the one before, so that no
// line can be changed, removed or moved without a trace. The ledger's events are its source: what
// the file lacks, because a process was cut short or the disk was full, the next writer appends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::ledger {

namespace sqlite {
class Database;
}
struct Event;

// A line of the log: the number of its event, and the SHA-256 of its bytes, without the newline.
struct AuditMark {
  int64_t number = 0;
  std::string hash = std::string(64, '0');  // of the line before the first one
};

// The log of the ledger at LEDGER.
[[nodiscard]] std::string audit_log_of(const std::string& ledger);

// The line of EVENT after the one with the hash PREVIOUS.
[[nodiscard]] std::string audit_line(const Event& event, const std::string& previous);
[[nodiscard]] std::string audit_hash(std::string_view line);  // 64 lower-case hexadecimal digits

class AuditLog {
 public:
  AuditLog() = default;  // of a ledger that has none: nothing is written
  explicit AuditLog(std::string path) : path_(std::move(path)) {}

  // Appends all changes of DATABASE that come after the last line: events of kind STATE and ERROR
  // and those that are of no lease. A torn last line is cut off before. Where another process is
  // appending, it does this one's part. Not synced.
  base::Status append(sqlite::Database& database);
  // Writes the last line that this object appended into DATABASE, inside a transaction of the
  // caller: by it a file that was cut off, or is gone, is told from a new one.
  base::Status remember(sqlite::Database& database);

 private:
  enum class Done { kYes, kAgain };
  base::Result<Done> append_once(sqlite::Database& database);

  std::string path_;
  AuditMark written_;       // by this object
  int64_t remembered_ = 0;  // its number, of that
};

// What remember() wrote last, by whatever process.
base::Result<AuditMark> read_audit_mark(sqlite::Database& database);

// For a ledger that is made anew beside the log at PATH, which may not be there, and those rotated
// from it: its newest event becomes the first one after the last line. The log is only read.
base::Status follow_audit_log(sqlite::Database& database, const std::string& path);

}  // namespace hook::ledger
