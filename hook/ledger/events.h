// SPDX-License-Identifier: Apache-2.0
// The history of leases and partitions: events in the order in which they were committed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/ledger/audit_log.h"

namespace hook::ledger {

struct Lease;
struct Store;

enum class EventKind {
  kState,       // a change of a lease or a partition
  kController,  // an answer of the pool's controller
  kKernel,      // what the kernel did or reported
  kError,       // an error that the user saw
  kNote,        // anything else
};

[[nodiscard]] std::string_view name_of(EventKind kind);  // "STATE", ...

struct Event {
  int64_t number = 0;  // increases and is never reused
  int64_t at_ms = 0;   // unix time
  std::string lease;   // empty: the event belongs to a partition, or to neither
  std::string container = {};
  std::string pool = {};
  std::string partition = {};
  EventKind kind = EventKind::kState;
  std::string text = {};
  // A JSON object of further data for the audit log: the actor and what the change granted. Empty:
  // none.
  std::string details = {};
  bool audited = true;  // false: it is not for the audit log
};

// The maximum length of an event's text in bytes; longer text is truncated.
inline constexpr size_t kMaxEventText = 1000;

class Events {
 public:
  explicit Events(Store& store) : store_(store) {}

  // Returns the events numbered above NUMBER, in order, at most LIMIT.
  base::Result<std::vector<Event>> after(int64_t number, uint32_t limit);
  base::Result<std::vector<Event>> of_lease(const std::string& id);
  // Returns the number of the newest event; 0 if there has never been one.
  base::Result<int64_t> last();
  // Returns the number of the last event before this unix time; 0 if there is none.
  base::Result<int64_t> last_before(int64_t at_ms);

  // Notes an event of LEASE other than a change. The note stays in memory, with the time of the
  // call, until this object next changes LEASE and writes both. A note therefore costs no sync of
  // its own. At most 64 notes are kept; further ones are dropped.
  void note(const std::string& lease, EventKind kind, std::string_view text);
  // Writes what an operator did by hand as one durable event that belongs to no lease.
  base::Status record(std::string_view text);
  // Writes what concerns LEASE, but does not change it, as one durable event of it.
  base::Status record(const Lease& lease, std::string_view text);

  // Removes some ended leases and events older than this unix time, as each acquire does; a long
  // history takes several calls. Keeps live leases and their events.
  base::Status forget(int64_t before_ms);

  // Appends to the audit log the events that it lacks. Each commit does this too, but ignores a
  // failure.
  base::Status write_audit_log();
  // Returns the last line of the audit log that the ledger remembers; its number is 0 if there is
  // none.
  base::Result<AuditMark> audit_mark();

 private:
  Store& store_;
};

}  // namespace hook::ledger
