// SPDX-License-Identifier: Apache-2.0
// Who waits for IPUs, in order of arrival.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"

namespace hook::ledger {

struct Store;

struct Waiter {
  int64_t ticket = 0;    // given by enter(): grows, and is never given twice
  std::string resource;  // a pool's name, or "pool/partition"
  std::string container;
  uint32_t ipus = 0;
  base::ProcessId owner;  // a waiter whose process ended waits no longer
  std::string boot_id;
  int64_t since_ms = 0;  // unix time
  int64_t until_ms = 0;
};

class Queue {
 public:
  explicit Queue(Store& store) : store_(store) {}

  // Puts WAITER last; its ticket.
  base::Result<int64_t> enter(const Waiter& waiter);
  // Also when there is no such ticket any more.
  base::Status leave(int64_t ticket);
  // Of all resources, in order of arrival; also those whose process ended.
  base::Result<std::vector<Waiter>> list();

 private:
  Store& store_;
};

}  // namespace hook::ledger
