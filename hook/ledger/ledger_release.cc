// SPDX-License-Identifier: Apache-2.0
// The changes that give back: they are recorded on a full disk as well.
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

using base::Status;

Status Ledger::begin_release(Lease& lease, const base::ProcessId& owner, const std::string& error) {
  return with_reserve(*store_, [&] { return try_begin_release(lease, owner, error); });
}

Status Ledger::finish_release(Lease& lease) {
  return with_reserve(*store_, [&] { return try_finish_release(lease); });
}

Status Ledger::note_obstacle(Lease& lease, const std::string& obstacle) {
  return with_reserve(*store_, [&] { return try_note_obstacle(lease, obstacle); });
}

}  // namespace hook::ledger
