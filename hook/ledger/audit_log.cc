// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/audit_log.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/audit_verify.h"
#include "hook/ledger/events.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/sqlite.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using base::Fd;
using base::Json;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

constexpr std::string_view kAudited =
    "rowid > ? AND audited AND (kind IN ('STATE', 'ERROR') OR lease = '')";
constexpr uint32_t kMostLines = 1000;     // read at a time
constexpr size_t kUsualLine = 1 << 11;    // most lines have a third of it
constexpr size_t kLongestLine = 1 << 16;  // far longer than any event's
constexpr int kMostRounds = 100;          // a process that is always overtaken stops; others append

Error failed(std::string_view what, const std::string& path) {
  return Error::from_errno(errno, str("audit log: ", what, " ", base::quote(path)));
}

// Returns the log, locked; absent if another process has locked it, which is no error.
Result<std::optional<Fd>> open_locked(const std::string& path) {
  Fd file = TRY_CTX("audit log",
                    base::open_at(AT_FDCWD, path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_SETLK, &whole) == 0) return std::optional<Fd>(std::move(file));
  if (errno == EAGAIN || errno == EACCES) return std::optional<Fd>();
  return failed("lock", path);
}

// Returns the last LONGEST bytes of a file of SIZE bytes.
Result<std::string> read_tail(const Fd& file, const std::string& path, size_t size,
                              size_t longest) {
  std::string tail(std::min(size, longest), '\0');
  const auto from = static_cast<off_t>(size - tail.size());
  if (::pread(file.get(), tail.data(), tail.size(), from) != static_cast<ssize_t>(tail.size())) {
    return failed("read", path);
  }
  return tail;
}

// Returns where the last complete line of TEXT begins; npos if there is none or it begins earlier.
size_t last_line_start(std::string_view text, bool is_whole_file) {
  const size_t end = text.rfind('\n');
  if (end == std::string_view::npos || end == 0) return std::string_view::npos;
  const size_t before = text.rfind('\n', end - 1);
  if (before != std::string_view::npos) return before + 1;
  return is_whole_file ? 0 : std::string_view::npos;
}

struct LastLine {
  std::string text;   // without its newline; empty: the file has no complete line
  size_t end = 0;     // position after its newline in the file
  bool torn = false;  // whether an incomplete line follows
};

Result<LastLine> read_last_line(const Fd& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed("inspect", path);
  const auto size = static_cast<size_t>(status.st_size);
  for (const size_t longest : {kUsualLine, kLongestLine}) {
    const std::string tail = TRY(read_tail(file, path, size, longest));
    const size_t start = last_line_start(tail, tail.size() == size);
    if (start == std::string::npos && tail.size() < size) continue;
    LastLine last;
    const size_t end = tail.rfind('\n') + 1;  // 0: there is no complete line
    if (start != std::string::npos) last.text = tail.substr(start, end - 1 - start);
    last.end = size - tail.size() + end;
    last.torn = end < tail.size();
    return last;
  }
  return LastLine();
}

// Returns the mark of LINE; absent if the line is not ours. Checks only the number: any other
// change in the line shows in its hash.
std::optional<AuditMark> mark_of(const std::string& line) {
  constexpr std::string_view kStart = "{\"number\":";
  if (!line.starts_with(kStart)) return std::nullopt;
  const std::string_view rest = std::string_view(line).substr(kStart.size());
  const Result<int64_t> number =
      base::parse_int<int64_t>(rest.substr(0, rest.find(',')), 1, INT64_MAX);
  if (!number.ok()) return std::nullopt;
  return AuditMark{number.value(), audit_hash(line)};
}

struct Lines {
  std::string text;
  AuditMark last;
  bool passes = true;  // has the line that the ledger remembers, with its hash
};

// Returns the lines of the events after START. They pass if the line that the ledger remembers
// comes out unchanged.
Result<Lines> lines_after(Database& database, const AuditMark& start, const AuditMark& remembered) {
  Lines lines{"", start};
  bool seen = start.number >= remembered.number;
  for (const Event& event : TRY(select_events(database, kAudited, start.number, kMostLines))) {
    const std::string line = audit_line(event, lines.last.hash);
    lines.last = {event.number, audit_hash(line)};
    lines.text += line + "\n";
    if (event.number != remembered.number) continue;
    seen = true;
    lines.passes = lines.last.hash == remembered.hash;
  }
  lines.passes = lines.passes && seen;
  return lines;
}

// Returns the lines that the file lacks. Lines that a power cut took from its end are written
// again. If the result lacks the line that the ledger remembers, somebody cut or changed the file.
// The log then continues with the remembered hash, which differs from the hash of the line before,
// so that verify_audit() finds the change.
Result<Lines> missing_lines(Database& database, const std::optional<AuditMark>& last) {
  const AuditMark remembered = TRY(read_audit_mark(database));
  if (!last || last->number == remembered.number) {
    return lines_after(database, remembered, remembered);
  }
  Lines lines = TRY(lines_after(database, *last, remembered));
  if (lines.passes) return lines;
  return lines_after(database, remembered, remembered);
}

Result<int64_t> newest_event(Database& database) {
  Statement row = TRY(database.prepare("SELECT COALESCE(MAX(rowid), 0) FROM event"));
  TRY(row.step());
  return row.integer(0);
}

// The file is ahead of the ledger only if the ledger was made anew or is an older copy. Its events
// then get numbers that the file does not have. Returns whether that happened.
Result<bool> renumber_events(Database& database, int64_t last) {
  if (TRY(newest_event(database)) >= last) return false;
  Transaction transaction = TRY(Transaction::begin(database));
  if (TRY(newest_event(database)) >= last) return false;
  const AuditMark remembered = TRY(read_audit_mark(database));
  Statement update = TRY(database.prepare("UPDATE event SET rowid = rowid + ? WHERE rowid > ?"));
  TRY(update.bind(last - remembered.number).bind(remembered.number).run());
  TRY(transaction.commit());
  return true;
}

// Stores MARK, unless another process has stored a later one. The text begins with the number.
Status write_audit_mark(Database& database, const AuditMark& mark) {
  Statement insert = TRY(database.prepare(
      "INSERT INTO meta(name, value) VALUES('audit', ?) ON CONFLICT(name) DO UPDATE SET value ="
      " excluded.value WHERE CAST(excluded.value AS INTEGER) > CAST(value AS INTEGER)"));
  return insert.bind(str(mark.number, " ", mark.hash)).run();
}

std::string to_hex(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

std::string audit_log_of(const std::string& ledger) {
  return str(ledger.substr(0, ledger.rfind('/') + 1), "audit.log");
}

std::string audit_hash(std::string_view line) {
  sha256_ctx context{};
  sha256_init(&context);
  sha256_update(&context, line.size(), reinterpret_cast<const uint8_t*>(line.data()));
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&context, digest.size(), digest.data());
  return to_hex(digest);
}

std::string audit_line(const Event& event, const std::string& previous) {
  const Json json = {{"number", event.number},      {"time", base::rfc3339(event.at_ms)},
                     {"kind", name_of(event.kind)}, {"event", event.text},
                     {"lease", event.lease},        {"container", event.container},
                     {"pool", event.pool},          {"partition", event.partition}};
  std::string line = base::to_text(json);
  line.pop_back();
  // The details are a JSON object; its members go into the line without its braces.
  if (event.details.size() > 2) line += "," + event.details.substr(1, event.details.size() - 2);
  return str(line, ",\"previous\":\"", previous, "\"}");
}

Status AuditLog::append(Database& database) {
  if (path_.empty()) return {};
  for (int round = 0; round < kMostRounds; ++round) {
    if (TRY(append_once(database)) == Done::kYes) return {};
  }
  return {};
}

Result<AuditLog::Done> AuditLog::append_once(Database& database) {
  std::optional<Fd> file = TRY(open_locked(path_));
  if (!file) return Done::kYes;
  const LastLine line = TRY(read_last_line(*file, path_));
  if (line.torn && ::ftruncate(file->get(), static_cast<off_t>(line.end)) != 0) {
    return failed("cut", path_);
  }
  const std::optional<AuditMark> last = mark_of(line.text);
  Lines lines = TRY(missing_lines(database, last));
  if (lines.text.empty() && last && TRY(renumber_events(database, last->number))) {
    lines = TRY(missing_lines(database, last));
  }
  if (!lines.text.empty()) TRY(base::write_all(file->get(), lines.text, "audit log"));
  written_ = std::move(lines.last);
  file.reset();
  // A process that found the log locked has left its events to this one.
  const std::vector<Event> more = TRY(select_events(database, kAudited, written_.number, 1));
  return more.empty() ? Done::kYes : Done::kAgain;
}

Status AuditLog::remember(Database& database) {
  if (written_.number <= remembered_) return {};
  TRY(write_audit_mark(database, written_));
  remembered_ = written_.number;
  return {};
}

Result<AuditMark> read_audit_mark(Database& database) {
  Statement row = TRY(database.prepare(
      "SELECT CAST(value AS INTEGER), substr(value, -64) FROM meta WHERE name = 'audit'"));
  if (TRY(row.step()) == Step::kDone) return AuditMark();
  return AuditMark{row.integer(0), row.text(1)};
}

Status follow_audit_log(Database& database, const std::string& path) {
  std::optional<AuditMark> last;
  for (const std::string& name : audit_files(path)) {
    const Fd file = TRY(base::open_at(AT_FDCWD, name, O_RDONLY | O_NOFOLLOW));
    const std::optional<AuditMark> here = mark_of(TRY(read_last_line(file, name)).text);
    if (here) last = here;
  }
  if (!last) return {};
  TRY(write_audit_mark(database, *last));
  Statement update = TRY(database.prepare(
      "UPDATE event SET rowid = max(rowid, ?) WHERE rowid = (SELECT max(rowid) FROM event)"));
  return update.bind(last->number + 1).run();
}

}  // namespace hook::ledger
