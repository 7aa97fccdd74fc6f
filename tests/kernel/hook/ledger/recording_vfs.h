// SPDX-License-Identifier: Apache-2.0
// RecordingVfs: SQLite's files with every write, truncation, sync and removal written down, so that
// a test can tell what a power cut between any two of them leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace test {

struct FileEvent {
  enum class Kind { kWrite, kTruncate, kSync, kRemove };
  Kind kind = Kind::kWrite;
  std::string file;    // its name without the directory
  int64_t offset = 0;  // of a write; the new size, of a truncation
  std::string data = {};
};

// What SQLite's syncs do.
enum class Syncs { kKept, kSwallowed };

// For all databases that are opened while it lives, which must be closed before it ends. One at a
// time.
class RecordingVfs {
 public:
  explicit RecordingVfs(Syncs syncs = Syncs::kKept);
  RecordingVfs(const RecordingVfs&) = delete;
  RecordingVfs& operator=(const RecordingVfs&) = delete;
  ~RecordingVfs();

  [[nodiscard]] const std::vector<FileEvent>& events() const { return events_; }
  void add(FileEvent event);

 private:
  Syncs syncs_;
  std::vector<FileEvent> events_;
};

// The content of files by name; a file that is not there is not in it.
using Image = std::map<std::string, std::string>;

// EVENT happens to IMAGE; of a write, only the bytes from FIRST up to LAST of it.
void happen_to(const FileEvent& event, Image& image, size_t first = 0, size_t last = SIZE_MAX);

// The states of a disk from one event to the next.
class Disk {
 public:
  explicit Disk(Image start) : durable_(std::move(start)) {}
  void happen(const FileEvent& event);
  // Every image that a power cut now may leave: all that was written; only what was synced; synced
  // with each one of the rest dropped, with each first and each last part of it, with every second;
  // with the last write torn at each sector, whichever side of it was written.
  [[nodiscard]] std::vector<Image> after_power_cut() const;

 private:
  [[nodiscard]] Image with(const std::vector<bool>& kept) const;
  [[nodiscard]] std::vector<Image> torn() const;
  Image durable_;
  std::vector<FileEvent> unsynced_;
};

}  // namespace test
