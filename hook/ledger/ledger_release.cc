// SPDX-License-Identifier: Apache-2.0
// The changes that give back: they are recorded on a full disk as well.
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

using base::Status;

Status Ledger::releasing(Lease& lease, const base::ProcessId& owner, const std::string& error) {
  return with_reserve(*store_, [&] { return try_releasing(lease, owner, error); });
}

Status Ledger::released(Lease& lease) {
  return with_reserve(*store_, [&] { return try_released(lease); });
}

Status Ledger::note_obstacle(Lease& lease, const std::string& obstacle) {
  return with_reserve(*store_, [&] { return try_note_obstacle(lease, obstacle); });
}

}  // namespace hook::ledger
