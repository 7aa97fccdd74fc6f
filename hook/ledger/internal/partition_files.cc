// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/partition_files.h"

#include <filesystem>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using base::Json;

constexpr size_t kMaxBytes = 16 << 10;
constexpr std::string_view kSubject = "record of a partition";

std::string folder_of(const std::string& ledger) {
  return base::directory_of(ledger) + "/partitions";
}

std::string file_of(const std::string& ledger, const PartitionRecord& record) {
  return str(folder_of(ledger), "/", record.name, "@", record.pool);
}

// Removes what processes that were killed had begun to write of any partition (base::write_atomic).
// The caller's transaction keeps others from writing.
Status remove_half_written(const std::string& ledger) {
  std::error_code err;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(ledger), err)) {
    const std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with(".")) TRY(base::remove_file(path));
  }
  return {};
}

std::string file_text(const PartitionRecord& record) {
  const Json json = {{"pool", record.pool},
                     {"name", record.name},
                     {"source", record.source},
                     {"ipus", record.ipus},
                     {"gcds", record.gcds},
                     {"shared", record.shared ? 1 : 0},
                     {"reconfigurable", record.reconfigurable ? 1 : 0},
                     {"created_ms", record.created_ms},
                     {"reservation", record.reservation},
                     {"until_ms", record.until_ms},
                     {"reserved_for", record.reserved_for},
                     {"user", record.user},
                     {"tenant", record.tenant},
                     {"fleet", record.fleet}};
  return base::to_text(json);
}

Result<PartitionRecord> parse_file(const std::string& text) {
  const Json json = TRY(base::parse_json(text, kSubject));
  PartitionRecord record;
  record.pool = TRY(base::get_string(json, "pool", kSubject));
  record.name = TRY(base::get_string(json, "name", kSubject));
  record.source = TRY(base::get_string(json, "source", kSubject));
  record.ipus = static_cast<uint32_t>(TRY(base::get_int(json, "ipus", kSubject)));
  record.gcds = static_cast<uint32_t>(TRY(base::get_int(json, "gcds", kSubject)));
  record.shared = TRY(base::get_int(json, "shared", kSubject)) != 0;
  record.reconfigurable = TRY(base::get_int(json, "reconfigurable", kSubject)) != 0;
  record.created_ms = TRY(base::get_int(json, "created_ms", kSubject));
  record.reservation = TRY(base::get_string(json, "reservation", kSubject));
  record.until_ms = TRY(base::get_int(json, "until_ms", kSubject));
  record.reserved_for = TRY(base::get_string(json, "reserved_for", kSubject));
  record.user = TRY(base::get_int(json, "user", kSubject));
  // Earlier builds write none.
  if (json.contains("tenant")) record.tenant = TRY(base::get_string(json, "tenant", kSubject));
  if (json.contains("fleet")) record.fleet = TRY(base::get_string(json, "fleet", kSubject));
  record.state = PartitionState::kReady;
  record.dirty = true;
  return record;
}

Result<PartitionRecord> read_file(const std::string& path) {
  const std::string text = TRY(base::read_plain_file(path, kMaxBytes));
  return parse_file(text);
}

}  // namespace

Status write_partition_file(const std::string& ledger, const PartitionRecord& record) {
  if (record.kind != PartitionKind::kNamed) return {};
  TRY(base::ensure_dir(folder_of(ledger), 0700));
  TRY(remove_half_written(ledger));
  return base::write_atomic(file_of(ledger, record), file_text(record), {0600, {}, {}});
}

Status remove_partition_file(const std::string& ledger, const PartitionRecord& record) {
  if (record.kind != PartitionKind::kNamed) return {};
  TRY(remove_half_written(ledger));
  TRY(base::remove_file(file_of(ledger, record)));
  return {};
}

std::vector<PartitionRecord> read_partition_files(const std::string& ledger,
                                                  std::vector<std::string>& notes) {
  std::vector<PartitionRecord> records;
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(folder_of(ledger), err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    const std::string path = it->path().string();
    Result<PartitionRecord> record = read_file(path);
    if (record.ok() && file_of(ledger, record.value()) == path) {
      records.push_back(std::move(record).take());
    } else {
      notes.push_back(str(quote(path), " is no record of a partition, and was not used"));
    }
  }
  return records;
}

}  // namespace hook::ledger
