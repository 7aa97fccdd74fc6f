// SPDX-License-Identifier: Apache-2.0
// Store: which partitions of a local pool exist, durable and shared by all processes of the host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace vipu::local {

// A partition, and its IPUs by what they are and not by their places: see Pool::ipus.
struct Record {
  std::string id;
  std::vector<std::string> ipus;
  bool operator==(const Record&) const = default;
};

// The records of one pool, in one JSON file of mode 0600:
//   {"version":1,"partitions":[{"id":"p0","ipus":["10.5.1.1:0","10.5.1.1:1"]}]}
// No IPU and no id is in it twice. A crash at any point leaves the old content or the new.
class Store {
 public:
  // PATH is absolute. PATH.lock, which is never removed, is locked while the file is changed. Their
  // directory is made, for root alone, when a first change needs it.
  explicit Store(std::string path) : path_(std::move(path)) {}

  // What the file holds at one moment; nothing if it is absent. kInvalid, with what to do, if it is
  // damaged or of another version.
  [[nodiscard]] base::Result<std::vector<Record>> read() const;

  // EDIT changes the records while nobody else can, and after success they are on disk. If it
  // fails, they are as before. kTimeout, without effect, if others have the lock until DEADLINE;
  // kInvalid, without effect, as read().
  base::Status change(const std::function<base::Status(std::vector<Record>&)>& edit,
                      const base::Deadline& deadline) const;

 private:
  std::string path_;
};

}  // namespace vipu::local
