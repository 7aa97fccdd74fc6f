// SPDX-License-Identifier: Apache-2.0
// PartitionStore: the partitions of a local pool, durable and shared by all processes of the host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace vipu::local {

// A partition, and its IPUs by identity, not by place: see Pool::ipus.
struct Record {
  std::string id;
  std::vector<std::string> ipus;
  bool operator==(const Record&) const = default;
};

// The records of one pool, in one JSON file of mode 0600:
//   {"version":1,"partitions":[{"id":"p0","ipus":["10.5.1.1:0","10.5.1.1:1"]}]}
// Each IPU and each id is in it at most once. A crash at any point leaves the old content or the
// new.
class PartitionStore {
 public:
  // PATH is absolute. PATH.lock, which is never removed, is locked during changes. The first change
  // makes their directory, for root alone, if necessary.
  explicit PartitionStore(std::string path) : path_(std::move(path)) {}

  // Returns the file's content at one moment; nothing if it is absent. Returns kInvalid, with what
  // to do, if it is damaged or of another version.
  [[nodiscard]] base::Result<std::vector<Record>> read() const;

  // Lets EDIT change the records while no other process can; after success they are on disk. If
  // EDIT fails, they stay unchanged. Returns kTimeout if others hold the lock until DEADLINE, and
  // kInvalid as read() does, both without effect.
  base::Status change(const std::function<base::Status(std::vector<Record>&)>& edit,
                      const base::Deadline& deadline) const;

 private:
  std::string path_;
};

}  // namespace vipu::local
