// SPDX-License-Identifier: Apache-2.0
// The audit log: JSON lines beside the ledger. Each line has the hash of the previous one, so that
// a changed, removed or moved line is detected. Its source is the ledger's events: the next writer
// appends what the file lacks because a process was killed or the disk was full.
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

// A line of the log: the number of its event, and the SHA-256 of its bytes without the newline.
struct AuditMark {
  int64_t number = 0;
  std::string hash = std::string(64, '0');  // of the line before the first one
};

// Returns the path of the audit log of the ledger at LEDGER.
[[nodiscard]] std::string audit_log_of(const std::string& ledger);

// Returns the line of EVENT that follows the line with the hash PREVIOUS.
[[nodiscard]] std::string audit_line(const Event& event, const std::string& previous);
[[nodiscard]] std::string audit_hash(std::string_view line);  // 64 lower-case hexadecimal digits

class AuditLog {
 public:
  AuditLog() = default;  // for a ledger without an audit log: writes nothing
  explicit AuditLog(std::string path) : path_(std::move(path)) {}

  // Appends all changes in DATABASE that follow the last line: events of kind STATE and ERROR, and
  // those that belong to no lease, but for starts that internal/refusals.h counts. Removes an
  // incomplete last line first. If another process is appending, it appends these events too, and
  // this call does nothing. Does not sync.
  base::Status append(sqlite::Database& database);
  // Stores in DATABASE the last line that this object appended, inside the caller's transaction.
  // The stored line tells a truncated or deleted file from a new one.
  base::Status remember(sqlite::Database& database);

 private:
  enum class Done { kYes, kAgain };
  base::Result<Done> append_once(sqlite::Database& database);

  std::string path_;
  AuditMark written_;       // the last line that this object appended
  int64_t remembered_ = 0;  // the number of the line that it stored last
};

// Returns what remember() stored last, in whatever process.
base::Result<AuditMark> read_audit_mark(sqlite::Database& database);

// Makes a new ledger continue the log at PATH, which may be absent, and its rotated predecessors:
// the ledger's newest event becomes the first one after the last line. Only reads the log.
base::Status follow_audit_log(sqlite::Database& database, const std::string& path);

}  // namespace hook::ledger
