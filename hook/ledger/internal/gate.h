// SPDX-License-Identifier: Apache-2.0
// Gate: nobody opens the ledger while another one is put in its place.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace hook::ledger {

class Gate {
 public:
  enum class Way {
    kOpen,     // together with others that open it; waits some seconds for a rebuild
    kRebuild,  // alone
  };
  // The directory of the ledger at LEDGER is locked until the object ends. kBusy while a rebuild is
  // under way; also, for a rebuild, while programs open it for seconds.
  static base::Result<Gate> enter(const std::string& ledger, Way way);

 private:
  explicit Gate(base::Fd directory) : directory_(std::move(directory)) {}
  base::Fd directory_;
};

// Nobody writes to the ledger at LEDGER who has it open already, until the object ends: it has the
// lock of SQLite's log that writers take. Whoever gets that later finds the file moved.
class WritersFence {
 public:
  // kBusy if another process is writing for seconds.
  static base::Result<WritersFence> raise(const std::string& ledger);

 private:
  explicit WritersFence(base::Fd shared) : shared_(std::move(shared)) {}
  base::Fd shared_;  // invalid: nobody can have it open
};

}  // namespace hook::ledger
