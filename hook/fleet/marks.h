// SPDX-License-Identifier: Apache-2.0
// Whether the store has gone back: to a snapshot of its own, or to a copy of its data. It lacks the
// claims that were made since, and nothing in it says so. Each host changes a key of its own from
// time to time, and remembers the revision: in a store that went back, the key is as it was before.
//   PREFIX marks/TAG       changed by host TAG; "forgotten" if that host is
//   PREFIX marks/restores  how often a host has found that the store went back
//   PREFIX marks/import    a random word that names the last import
// An import removes all others: it asks all hosts itself.
#pragma once

#include <string>

#include "base/result.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/store.h"

namespace hook::fleet {

// Returns the key of HOST's mark.
[[nodiscard]] std::string mark_key(const std::string& prefix, const std::string& host);
// Returns what names an import as ID, 16 hexadecimal digits.
[[nodiscard]] Put import_mark(const std::string& prefix, const std::string& id);
// Returns what says that HOST is forgotten: nobody waits for it, and it may come back.
[[nodiscard]] Put forgotten_mark(const std::string& prefix, const std::string& host);

// Adds to TXN that the store has not gone back behind FLEET's mark.
void require_mark(const Fleet& fleet, Txn& txn);
// Adds to TXN that nobody has imported, or found that the store went back, since REVISION. Both are
// recorded before all hosts can have told again.
void require_no_restore(const Fleet& fleet, int64_t revision, Txn& txn);
// Fails with kDenied, with what to do, if RESULT found that it has, and no host that has not told
// since (check_told() says that).
base::Status check_mark(const Fleet& fleet, const TxnResult& result);
// Fails so if the store has. Changes nothing.
base::Status check_history(const Fleet& fleet);

struct Marked {
  Mark mark;  // to be remembered
  // Since FLEET's mark, by what this host or another one found, and not by an import.
  bool has_gone_back = false;
};
// Marks the store for the host of FLEET's mark. If the store has gone back, and nobody has said so
// since: it first asks all hosts to tell what they have (restored.h), forgets the idle warm
// partitions, which a container may have by now, and has each named partition reset before its next
// use. A host that is fenced marks nothing (kDenied). Harmless twice. If it is cut short, the mark
// is as it was, and the next call does all of it.
base::Result<Marked> mark_store(const Fleet& fleet);

}  // namespace hook::fleet
