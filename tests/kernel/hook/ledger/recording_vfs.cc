// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel/hook/ledger/recording_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace test {
namespace {

RecordingVfs* recorder = nullptr;
sqlite3_vfs* real_vfs = nullptr;
sqlite3_vfs recording_vfs;

// As SQLite lays a file out: our part, then that of the real file system.
struct File {
  sqlite3_file base;
  char name[64];  // empty: not recorded
};

sqlite3_file* real_of(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<File*>(file) + 1);
}

void record(sqlite3_file* file, FileEvent event) {
  event.file = reinterpret_cast<File*>(file)->name;
  if (recorder != nullptr && !event.file.empty()) recorder->add(std::move(event));
}

std::string name_of(const char* path) {
  const std::string text = path == nullptr ? "" : path;
  return text.substr(text.rfind('/') + 1);
}

int close_file(sqlite3_file* file) { return real_of(file)->pMethods->xClose(real_of(file)); }
int read_file(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  return real_of(file)->pMethods->xRead(real_of(file), data, size, offset);
}
int write_file(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  record(file, {FileEvent::Kind::kWrite, "", offset,
                std::string(static_cast<const char*>(data), static_cast<size_t>(size))});
  return real_of(file)->pMethods->xWrite(real_of(file), data, size, offset);
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  record(file, {FileEvent::Kind::kTruncate, "", size});
  return real_of(file)->pMethods->xTruncate(real_of(file), size);
}
int sync_file(sqlite3_file* file, int /*flags*/) {
  record(file, {FileEvent::Kind::kSync, ""});
  return SQLITE_OK;  // nobody cuts the power of this machine
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return real_of(file)->pMethods->xFileSize(real_of(file), size);
}
int lock_file(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xLock(real_of(file), level);
}
int unlock_file(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xUnlock(real_of(file), level);
}
int check_lock(sqlite3_file* file, int* result) {
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), result);
}
int control_file(sqlite3_file* file, int operation, void* argument) {
  return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}
int sector_size(sqlite3_file* file) { return real_of(file)->pMethods->xSectorSize(real_of(file)); }
int characteristics(sqlite3_file* file) {
  return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}
int map_shared(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
  return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, memory);
}
int lock_shared(sqlite3_file* file, int offset, int count, int flags) {
  return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}
void barrier(sqlite3_file* file) { real_of(file)->pMethods->xShmBarrier(real_of(file)); }
int unmap_shared(sqlite3_file* file, int remove) {
  return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

// Version 2: files are not mapped.
constexpr sqlite3_io_methods kMethods = {2,
                                         close_file,
                                         read_file,
                                         write_file,
                                         truncate_file,
                                         sync_file,
                                         file_size,
                                         lock_file,
                                         unlock_file,
                                         check_lock,
                                         control_file,
                                         sector_size,
                                         characteristics,
                                         map_shared,
                                         lock_shared,
                                         barrier,
                                         unmap_shared,
                                         nullptr,
                                         nullptr};

int open_file(sqlite3_vfs* /*vfs*/, const char* path, sqlite3_file* file, int flags, int* got) {
  File* const ours = new (file) File{{nullptr}, ""};
  const std::string name = name_of(path);
  if (name.size() >= sizeof ours->name) std::abort();
  std::copy(name.begin(), name.end(), ours->name);
  const int rc = real_vfs->xOpen(real_vfs, path, real_of(file), flags, got);
  if (rc == SQLITE_OK) ours->base.pMethods = &kMethods;
  return rc;
}

int remove_file(sqlite3_vfs* /*vfs*/, const char* path, int sync) {
  const int rc = real_vfs->xDelete(real_vfs, path, sync);
  if (rc == SQLITE_OK && recorder != nullptr) {
    recorder->add({FileEvent::Kind::kRemove, name_of(path)});
  }
  return rc;
}

}  // namespace

RecordingVfs::RecordingVfs(Syncs syncs) : syncs_(syncs) {
  if (recorder != nullptr) std::abort();
  recorder = this;
  real_vfs = sqlite3_vfs_find("unix");
  recording_vfs = *real_vfs;
  recording_vfs.pNext = nullptr;
  recording_vfs.zName = "recording";
  recording_vfs.szOsFile += static_cast<int>(sizeof(File));
  recording_vfs.xOpen = open_file;
  recording_vfs.xDelete = remove_file;
  (void)sqlite3_vfs_register(&recording_vfs, 1);
}

RecordingVfs::~RecordingVfs() {
  (void)sqlite3_vfs_unregister(&recording_vfs);
  (void)sqlite3_vfs_register(real_vfs, 1);
  recorder = nullptr;
}

void RecordingVfs::add(FileEvent event) {
  if (event.kind == FileEvent::Kind::kSync && syncs_ == Syncs::kSwallowed) return;
  events_.push_back(std::move(event));
}

void happen_to(const FileEvent& event, Image& image, size_t first, size_t last) {
  if (event.kind == FileEvent::Kind::kRemove) {
    image.erase(event.file);
    return;
  }
  std::string& content = image[event.file];
  if (event.kind == FileEvent::Kind::kTruncate) content.resize(static_cast<size_t>(event.offset));
  if (event.kind != FileEvent::Kind::kWrite) return;
  last = std::min(last, event.data.size());
  const size_t start = static_cast<size_t>(event.offset) + first;
  content.resize(std::max(content.size(), start + last - first));
  content.replace(start, last - first, event.data, first, last - first);
}

// Names are durable at once: SQLite syncs directories by itself, and not by its file layer.
void Disk::happen(const FileEvent& event) {
  if (event.kind == FileEvent::Kind::kSync || event.kind == FileEvent::Kind::kRemove) {
    std::vector<FileEvent> others;
    for (FileEvent& waiting : unsynced_) {
      if (waiting.file != event.file) {
        others.push_back(std::move(waiting));
      } else {
        happen_to(waiting, durable_);
      }
    }
    unsynced_ = std::move(others);
    if (event.kind == FileEvent::Kind::kRemove) happen_to(event, durable_);
  } else {
    unsynced_.push_back(event);
  }
}

Image Disk::with(const std::vector<bool>& kept) const {
  Image image = durable_;
  for (size_t i = 0; i < unsynced_.size(); ++i) {
    if (kept[i]) happen_to(unsynced_[i], image);
  }
  return image;
}

std::vector<Image> Disk::torn() const {
  constexpr size_t kSector = 512;
  std::vector<Image> images;
  if (unsynced_.empty()) return images;
  std::vector<bool> kept(unsynced_.size(), true);
  kept.back() = false;
  const Image before = with(kept);
  const FileEvent& last = unsynced_.back();
  for (size_t cut = kSector; cut < last.data.size(); cut += kSector) {
    images.push_back(before);
    happen_to(last, images.back(), 0, cut);
    images.push_back(before);
    happen_to(last, images.back(), cut);
  }
  return images;
}

std::vector<Image> Disk::after_power_cut() const {
  const size_t size = unsynced_.size();
  const auto keep = [&](auto&& is_kept) {
    std::vector<bool> kept(size);
    for (size_t i = 0; i < size; ++i) kept[i] = is_kept(i);
    return with(kept);
  };
  std::vector<Image> images = torn();
  images.push_back(durable_);
  for (size_t at = 0; at < size; ++at) {
    images.push_back(keep([&](size_t i) { return i <= at; }));
    images.push_back(keep([&](size_t i) { return i >= at; }));
    images.push_back(keep([&](size_t i) { return i != at; }));
  }
  for (const size_t rest : {0U, 1U}) {
    images.push_back(keep([&](size_t i) { return i % 2 == rest; }));
  }
  return images;
}

}  // namespace test
