// SPDX-License-Identifier: Apache-2.0
// The repair of a damaged ledger: the only way to read one that SQLite refuses, and to put another
// one in its place. Which leases and partitions the new one has, the caller decides.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

// What can still be read of a damaged ledger.
struct Salvaged {
  std::vector<Lease> leases;  // live ones
  std::vector<PartitionRecord> partitions;
  std::vector<std::string> notes;  // one line each, for people
};

// No double grant: a Gate keeps others from opening the ledger meanwhile. A WritersFence holds
// those that have it open until it is moved, and sqlite::Transaction refuses them from then on. The
// old ledger stays in place until put_in_place(). The end of the object removes everything else
// that it made.
class Rebuilder {
 public:
  // Locks the ledger at PATH, whose directory is made if absent. kBusy if another rebuild, or a
  // program that opens the ledger, is in the way for seconds.
  static base::Result<Rebuilder> enter(const std::string& path);

  // A rebuild that was killed between its last two steps left a ledger that only has to be moved.
  // This call moves it, and removes whatever else earlier rebuilds left.
  enum class Finished { kYes, kNothing };
  base::Result<Finished> finish_earlier();

  // Stops all writers and copies what can be read; an unreadable block is zeros in the copy, and a
  // note. Nothing below may be called before. kBusy if a program is writing for seconds.
  base::Result<Salvaged> salvage();
  // A new, empty ledger, beside the old one.
  base::Result<Ledger> open_new();
  // The history of the old ledger, and EVENT: what happens from here on follows it in the audit
  // log.
  base::Status begin_history(std::string_view event);
  // Writes LEASES into the new ledger. It leaves out what an earlier one of them holds, and says so
  // in NOTES.
  base::Status add(const std::vector<Lease>& leases, std::vector<std::string>& notes);
  // Where the new ledger is until then, for check_ledger().
  [[nodiscard]] std::string new_path() const;
  // The new ledger in place of the old one, whose new name is returned; empty if there was none.
  // After a failure finish_earlier() of the next rebuild goes on.
  base::Result<std::string> put_in_place();

  // Finishes or removes what a rebuild of the ledger at PATH left that was killed. kBusy while one
  // is at work.
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
