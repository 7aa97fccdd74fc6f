// SPDX-License-Identifier: Apache-2.0
// The history: what happened to leases and partitions, in the order in which it was committed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/ledger/audit_log.h"

namespace hook::ledger {

struct Store;

enum class EventKind {
  kState,       // a change of the lease, or of the partition
  kController,  // an answer of the pool's controller
  kKernel,      // what the kernel did or said
  kError,       // what the user saw
  kNote,        // anything else
};

[[nodiscard]] std::string_view name_of(EventKind kind);  // "STATE", ...

struct Event {
  int64_t number = 0;  // grows, and is never given twice
  int64_t at_ms = 0;   // unix time
  std::string lease;   // empty: of a partition, or of neither
  std::string container = {};
  std::string pool = {};
  std::string partition = {};
  EventKind kind = EventKind::kState;
  std::string text = {};
  // A JSON object with what the audit log says beside: who did it, and what the change gave. Empty:
  // nothing.
  std::string details = {};
};

// The longest text of an event, in bytes; of a longer one the rest is cut off.
inline constexpr size_t kMaxEventText = 1000;

class Events {
 public:
  explicit Events(Store& store) : store_(store) {}

  // Those with a number above NUMBER, in order, at most LIMIT.
  base::Result<std::vector<Event>> after(int64_t number, uint32_t limit);
  base::Result<std::vector<Event>> of_lease(const std::string& id);
  // The number of the newest one; 0 if there never was one.
  base::Result<int64_t> last();
  // The number of the last one before this unix time; 0 if there is none.
  base::Result<int64_t> last_before(int64_t at_ms);

  // What happened to a lease beside its changes. Kept in memory, with the time of the call, until
  // the next change of that lease through this object writes it, so that it costs no sync of its
  // own. At most 64 are kept: further ones are dropped.
  void note(const std::string& lease, EventKind kind, std::string_view text);
  // What an operator did by hand: one durable event of no lease.
  base::Status record(std::string_view text);

  // Removes some of what is older than this unix time, as each acquire does: a part of a long
  // history at a time. Of leases that are live nothing.
  base::Status forget(int64_t before_ms);

  // Appends to the audit log what it lacks; each commit does so too, and goes on without.
  base::Status write_audit_log();
  // The last line of the audit log that the ledger remembers; number 0: none.
  base::Result<AuditMark> audit_mark();

 private:
  Store& store_;
};

}  // namespace hook::ledger
