// SPDX-License-Identifier: Apache-2.0
// The repair of a damaged ledger. Only this class reads a ledger that SQLite refuses and puts
// another one in its place. The caller decides which leases and partitions the new ledger has.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

// What is still readable in a damaged ledger.
struct Salvaged {
  std::vector<Lease> leases;  // live ones
  std::vector<PartitionRecord> partitions;
  std::optional<HostWitnesses> host = {};  // whose the ledger is, if it says so
  std::string host_tag = {};               // of that host
  std::vector<std::string> notes;          // one line each, for people
};

// Whether the taints of IPUs were copied.
enum class Taints { kKept, kLost };

// A rebuild causes no double grant. A Gate keeps other processes from opening the ledger. A
// WritersFence blocks processes that have it open until the file is moved; from then on
// sqlite::Transaction refuses them. The old ledger stays in place until put_in_place(). The
// destructor removes everything else that the rebuild made.
class Rebuilder {
 public:
  // Locks the ledger at PATH and creates its directory if absent. Fails with kBusy if another
  // rebuild, or a program that opens the ledger, holds the lock for several seconds.
  static base::Result<Rebuilder> enter(const std::string& path);

  // Finishes an earlier rebuild. If it was killed between its last two steps, it left a complete
  // ledger; this call moves that ledger into place (kYes). Removes everything else that earlier
  // rebuilds left.
  enum class Finished { kYes, kNothing };
  base::Result<Finished> finish_earlier();

  // Stops all writers and copies what is readable. An unreadable block becomes zeros in the copy,
  // and a note. The functions below require this call. Fails with kBusy if a program writes for
  // several seconds.
  base::Result<Salvaged> salvage();
  // Creates a new, empty ledger of HOST beside the old one. TAG is the one that its partitions have
  // already; empty: none.
  base::Result<Ledger> open_new(const HostWitnesses& host, const std::string& tag = "");
  // Copies the history of the old ledger, and its taints, and appends EVENT. Later events follow in
  // the same audit log.
  base::Result<Taints> begin_history(std::string_view event);
  // Makes the new ledger forget all of the old one but what happened. put_in_place() removes the
  // files of PARTITIONS then: these are another host's, which has a ledger of its own.
  base::Status disown(const std::vector<PartitionRecord>& partitions);
  // Writes LEASES into the new ledger. Omits what an earlier one of them holds, and reports each
  // omission in NOTES.
  base::Status add(const std::vector<Lease>& leases, std::vector<std::string>& notes);
  // Returns the path of the new ledger before put_in_place(), for check_ledger().
  [[nodiscard]] std::string new_path() const;
  // Replaces the old ledger with the new one. Returns the new name of the old one, empty if there
  // was none. After a failure, finish_earlier() of the next rebuild continues.
  base::Result<std::string> put_in_place();

  // Finishes or removes what a killed rebuild of the ledger at PATH left. Fails with kBusy during a
  // rebuild.
  static base::Status remove_remains(const std::string& path);

  Rebuilder(Rebuilder&&) noexcept;
  Rebuilder& operator=(Rebuilder&&) = delete;
  ~Rebuilder();

 private:
  struct State;
  explicit Rebuilder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hook::ledger
