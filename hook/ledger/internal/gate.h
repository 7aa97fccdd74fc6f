// SPDX-License-Identifier: Apache-2.0
// Locks that keep other processes from a ledger while another one is put in its place.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace hook::ledger {

class Gate {
 public:
  enum class Way {
    kOpen,     // shared with others that open it; waits some seconds for a rebuild
    kRebuild,  // exclusive
  };
  // Locks the directory of the ledger at LEDGER until the object ends. Fails with kBusy during a
  // rebuild; for a rebuild, also if programs hold the lock for several seconds to open the ledger.
  static base::Result<Gate> enter(const std::string& ledger, Way way);

 private:
  explicit Gate(base::Fd directory) : directory_(std::move(directory)) {}
  base::Fd directory_;
};

// Keeps processes that already have the ledger at LEDGER open from writing to it, until the object
// ends: holds the lock of SQLite's log that writers take. A process that gets the lock later finds
// the file moved.
class WritersFence {
 public:
  // Fails with kBusy if another process writes for several seconds.
  static base::Result<WritersFence> raise(const std::string& ledger);

 private:
  explicit WritersFence(base::Fd shared) : shared_(std::move(shared)) {}
  base::Fd shared_;  // invalid: no process can have the ledger open
};

}  // namespace hook::ledger
