// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/partition_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>

#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "vipu/types.h"
#include "vipu/wire_fields.h"

namespace vipu::local {
namespace {

using namespace base::names;
using base::Fd;
using base::Json;
using wire::Fields;

constexpr uint32_t kVersion = 1;
constexpr size_t kMaxFile = size_t{1} << 20;  // bytes
constexpr size_t kMaxIpus = 4096;             // and partitions
constexpr size_t kMaxIpuText = 256;           // bytes
constexpr std::chrono::milliseconds kLockPoll(2);

std::string to_text(const std::vector<Record>& records) {
  Json partitions = Json::array();
  for (const Record& record : records) {
    partitions.push_back({{"id", record.id}, {"ipus", record.ipus}});
  }
  return base::to_pretty_text({{"version", kVersion}, {"partitions", std::move(partitions)}});
}

Result<Record> parse_record(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "partition"));
  Record record;
  record.id = TRY(fields.text("id", kMaxPartitionName));
  const Json* ipus = TRY(fields.array("ipus", kMaxIpus));
  for (const Json& ipu : *ipus) {
    if (!ipu.is_string() || !wire::is_plain_text(ipu.get_ref<const std::string&>(), kMaxIpuText)) {
      return fields.wrong("ipus", "a list of texts");
    }
    record.ipus.push_back(ipu.get<std::string>());
  }
  return record;
}

// Checks what must be true of any content, read or to be written.
Status check(const std::vector<Record>& records) {
  std::set<std::string> ids;
  std::set<std::string> ipus;
  for (const Record& record : records) {
    if (!is_partition_name(record.id)) {
      return Error(Code::kInvalid, str(quote(record.id), " is no partition name"));
    }
    if (!ids.insert(record.id).second) {
      return Error(Code::kInvalid, str("partition ", quote(record.id), " is in it twice"));
    }
    if (record.ipus.empty()) {
      return Error(Code::kInvalid, str("partition ", quote(record.id), " has no IPU"));
    }
    for (const std::string& ipu : record.ipus) {
      if (ipu.empty() || !ipus.insert(ipu).second) {
        return Error(Code::kInvalid, str("IPU ", quote(ipu), " is in it twice, or is none"));
      }
    }
  }
  return {};
}

Result<std::vector<Record>> parse_records(std::string_view text) {
  const Json json = TRY(base::parse_json(text, "content"));
  const Fields fields = TRY(Fields::open(json, "content"));
  const uint32_t version = TRY(fields.number("version", 0, UINT32_MAX));
  if (version != kVersion) {
    return Error(Code::kInvalid, str("has version ", version, ", and this program knows version ",
                                     kVersion, " only"));
  }
  const Json* partitions = TRY(fields.array("partitions", kMaxIpus));
  std::vector<Record> records;
  for (const Json& partition : *partitions) records.push_back(TRY(parse_record(partition)));
  TRY(check(records));
  return records;
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// An existing directory keeps its mode: it may be another party's.
Status ensure_directory_of(const std::string& path) {
  const Result<Fd> directory = base::open_at(AT_FDCWD, directory_of(path), O_PATH | O_DIRECTORY);
  if (directory.ok()) return {};
  if (directory.error().sys_errno() != ENOENT) return directory.error();
  return base::ensure_dir(directory_of(path), 0700);
}

Result<Fd> lock(const std::string& path, const base::Deadline& deadline) {
  Fd fd = TRY(base::open_at(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  const base::LockWait wait(path);
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Error::from_errno(errno, str("lock ", quote(path)));
    if (deadline.passed()) {
      return Error(Code::kTimeout, str("lock ", quote(path), ": others have had it for too long"));
    }
    base::sleep_for(kLockPoll, deadline);
  }
  return fd;
}

// Removes what a killed write_atomic left behind. The caller holds the lock, so nobody else writes.
void remove_temporaries(const std::string& path) {
  constexpr size_t kRandom = 16;  // characters
  const std::string prefix = str(".", path.substr(path.rfind('/') + 1), ".");
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(directory_of(path), err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(prefix) && name.size() == prefix.size() + kRandom) {
      (void)base::remove_file(it->path().string());
    }
  }
}

}  // namespace

Result<std::vector<Record>> PartitionStore::read() const {
  const std::optional<std::string> text = TRY(base::read_file_if_exists(path_, kMaxFile));
  if (!text.has_value()) return std::vector<Record>();
  Result<std::vector<Record>> records = parse_records(*text);
  if (records.ok()) return records;
  return Error(Code::kInvalid,
               str("state file ", quote(path_), ": ", records.error().message(),
                   "; restore it, or remove it when no container uses the pool any more"));
}

Status PartitionStore::change(const std::function<Status(std::vector<Record>&)>& edit,
                              const base::Deadline& deadline) const {
  TRY(ensure_directory_of(path_));
  const Fd locked = TRY(lock(path_ + ".lock", deadline));
  const std::vector<Record> before = TRY(read());
  std::vector<Record> after = before;
  TRY(edit(after));
  if (after == before) return {};
  TRY_CTX("the change", check(after));
  remove_temporaries(path_);
  return base::write_atomic(path_, to_text(after), {0600, {}, {}});
}

}  // namespace vipu::local
