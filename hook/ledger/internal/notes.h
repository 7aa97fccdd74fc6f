// SPDX-License-Identifier: Apache-2.0
// Events that wait in memory for the next change of their lease.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "hook/ledger/events.h"

namespace hook::ledger {

class Notes {
 public:
  static constexpr size_t kMost = 64;

  void add(Event note) {
    if (notes_.size() < kMost) notes_.push_back(std::move(note));
  }
  [[nodiscard]] std::vector<Event> of(const std::string& lease) const {
    std::vector<Event> found;
    std::copy_if(notes_.begin(), notes_.end(), std::back_inserter(found),
                 [&](const Event& note) { return note.lease == lease; });
    return found;
  }
  [[nodiscard]] bool has(const std::string& lease, EventKind kind) const {
    return std::any_of(notes_.begin(), notes_.end(),
                       [&](const Event& note) { return note.lease == lease && note.kind == kind; });
  }
  void drop(const std::string& lease) {
    std::erase_if(notes_, [&](const Event& note) { return note.lease == lease; });
  }

 private:
  std::vector<Event> notes_;
};

}  // namespace hook::ledger
