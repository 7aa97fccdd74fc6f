// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/cdi_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "hook/cdi/validate.h"
#include "hook/config/paths.h"
#include "hook/ledger/partitions.h"
#include "vipu/local/cards.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Fd;
using hook::lifecycle::Env;

constexpr size_t kMaxMemory = 64 << 10;
constexpr std::chrono::milliseconds kPatience{5000};  // for another command's look and write
constexpr std::chrono::milliseconds kRetry{5};

// A line each: directories, see remembered_dirs().
std::string memory_file() { return hook::config::state_dir() + "/cdi"; }

hook::cdi::Card card_of(const vipu::Card& card) {
  hook::cdi::Card shown{card.number, {}};
  for (const vipu::CardNode& node : card.nodes) shown.nodes.push_back(node.path);
  return shown;
}

// Without groups in the configuration, all cards are one.
hook::cdi::CardPool pool_of(const hook::config::PoolConfig& pool,
                            const std::vector<vipu::Card>& cards) {
  hook::cdi::CardPool shown{pool.name, {}};
  if (pool.groups.empty()) {
    shown.groups.emplace_back();
    for (const vipu::Card& card : cards) shown.groups.back().push_back(card_of(card));
  }
  for (const std::vector<uint32_t>& group : pool.groups) {
    shown.groups.emplace_back();
    for (const uint32_t number : group) {
      const auto card = std::find_if(cards.begin(), cards.end(),
                                     [&](const vipu::Card& one) { return one.number == number; });
      const bool is_there = card != cards.end();
      shown.groups.back().push_back(is_there ? card_of(*card) : hook::cdi::Card{number, {}});
    }
  }
  return shown;
}

// A host may have no cards at the moment, such as while its driver is loaded again.
Result<std::vector<vipu::Card>> cards_of_host(const Env& env) {
  Result<std::vector<vipu::Card>> cards = vipu::local::read_cards(env.sysfs, "/dev");
  if (!cards.ok() && cards.error().code() == Code::kUnavailable) return std::vector<vipu::Card>();
  return cards;
}

bool is_offered(const hook::ledger::PartitionRecord& record, const hook::config::Config& config) {
  const bool has_pool =
      std::any_of(config.pools.begin(), config.pools.end(),
                  [&](const hook::config::PoolConfig& pool) { return pool.name == record.pool; });
  return has_pool && record.kind != hook::ledger::PartitionKind::kWarm &&
         record.state == hook::ledger::PartitionState::kReady && record.reservation.empty();
}

// One command at a time looks at cards, partitions and the memory, and then writes: what an earlier
// one saw never replaces what a later one saw. The lock ends with the descriptor.
Result<Fd> lock_files() {
  TRY(base::ensure_dir(hook::config::state_dir(), 0700));
  const std::string path = memory_file() + ".lock";
  Fd fd = TRY(base::open_at(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  const auto patience = Deadline::after(kPatience);
  const base::LockWait wait(path);
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return Error::from_errno(errno, str("lock ", base::quote(path)));
    if (patience.passed())
      return Error(Code::kBusy, "another ipuctl is writing the CDI files; try again");
    base::sleep_for(kRetry, patience);
  }
  return fd;
}

// Returns the directories in the memory. The first has the files. Those of the others are of a move
// that has not ended.
Result<std::vector<std::string>> remembered_dirs() {
  const auto read = TRY(base::read_trusted_file(memory_file(), kMaxMemory));
  const std::string text = read.value_or("");
  std::vector<std::string> dirs;
  for (const std::string_view line : base::split(text, '\n'))
    if (!line.empty()) dirs.emplace_back(line);
  return dirs;
}

Status remember(const std::vector<std::string>& dirs) {
  return base::write_atomic(memory_file(), base::join(dirs, "\n") + "\n", {0600, {}, {}, {}});
}

Result<Fd> open_dir(const std::string& dir) {
  struct stat there {};
  if (::stat(dir.c_str(), &there) != 0 && errno == ENOENT) TRY(base::ensure_dir(dir, 0755));
  return base::open_trusted_directory(dir);
}

// Returns whether the file changed.
Result<bool> write_file(const std::string& dir, const Fd& fd, const hook::cdi::File& file) {
  const std::string path = str(dir, '/', file.name);
  const std::optional<std::string> there =
      TRY(base::read_file_if_exists(path, hook::cdi::kMaxFileBytes));
  if (there.value_or("") == file.text) return false;
  if (file.text.empty()) {
    TRY(base::remove_file(path));
  } else {
    TRY(base::write_atomic(fd.get(), file.name, file.text, {}));
  }
  return true;
}

Status remove_from(const std::string& dir, std::vector<std::string>& removed) {
  for (const std::string_view name : hook::cdi::kFileNames) {
    const std::string path = str(dir, '/', name);
    if (TRY(base::remove_file(path)) == base::Removed::kNow) removed.push_back(path);
  }
  return {};
}

// Makes DIR hold FILES, and then the other directories of the memory none: at each moment, engines
// find the files in one place at least.
Result<std::vector<std::string>> write_files(const std::string& dir,
                                             const hook::cdi::Files& files) {
  const std::vector<std::string> before = TRY(remembered_dirs());
  std::vector<std::string> dirs = {dir};
  for (const std::string& each : before)
    if (!is_same_dir(each, dir)) dirs.push_back(each);
  const Fd fd = TRY(open_dir(dir));
  // Before the files, so that none is ever left that nobody refreshes or removes.
  if (dirs != before) TRY(remember(dirs));
  std::vector<std::string> changed;
  for (const hook::cdi::File& file : files.files) {
    const bool is_changed = TRY(write_file(dir, fd, file));
    if (is_changed) changed.push_back(str(dir, '/', file.name));
  }
  if (dirs.size() == 1) return changed;
  for (size_t i = 1; i < dirs.size(); ++i) TRY(remove_from(dirs[i], changed));
  TRY(remember({dir}));
  return changed;
}

// Returns the text of the file NAME in the directory of the memory; empty if there is none.
Result<std::string> text_in_force(std::string_view name) {
  const std::optional<std::string> dir = TRY(cdi_dir());
  if (!dir) return std::string();
  const std::optional<std::string> text =
      TRY(base::read_file_if_exists(str(*dir, '/', name), hook::cdi::kMaxFileBytes));
  return text.value_or("");
}

}  // namespace

bool is_same_dir(const std::string& one, const std::string& other) {
  std::error_code failed;
  const auto canonical = [&](const std::string& dir) {
    // "/etc/cdi/" has an empty last part.
    return std::filesystem::weakly_canonical(dir + "/.", failed).lexically_normal();
  };
  return one == other || (canonical(one) == canonical(other) && !failed);
}

Result<std::optional<std::string>> cdi_dir() {
  std::vector<std::string> dirs = TRY(remembered_dirs());
  if (dirs.empty()) return std::optional<std::string>();
  return std::optional<std::string>(std::move(dirs.front()));
}

Result<hook::cdi::Files> wanted_cdi_files(Env& env, const hook::config::Config& config) {
  hook::cdi::Inventory inventory;
  inventory.first_pool = config.pools.empty() ? "" : config.pools.front().name;
  bool has_card = true;
  for (const hook::config::PoolConfig& pool : config.pools) {
    if (pool.provider != hook::config::Provider::kPcie) continue;
    const std::vector<vipu::Card> cards = TRY(cards_of_host(env));
    has_card = !cards.empty();
    inventory.cards.push_back(pool_of(pool, cards));
  }
  for (const hook::ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    if (is_offered(record, config)) inventory.partitions.push_back({record.pool, record.name});
  }
  hook::cdi::Files files = hook::cdi::make_files(inventory, env.hook_program);
  // The driver is late, or is loaded again. Engines look for the nodes at each start anyway.
  if (!has_card) files.files[0].text = TRY(text_in_force(files.files[0].name));
  return files;
}

Result<WrittenCdi> generate_cdi(Env& env, const hook::config::Config& config,
                                const std::string& dir) {
  const Fd lock = TRY(lock_files());
  WrittenCdi written;
  written.files = TRY(wanted_cdi_files(env, config));
  const std::string kept = TRY(cdi_dir()).value_or(kCdiDirs[1]);
  written.changed = TRY(write_files(dir.empty() ? kept : dir, written.files));
  return written;
}

Result<std::vector<std::string>> remove_cdi_files() {
  std::vector<std::string> removed;
  if (!TRY(cdi_dir())) return removed;
  const Fd lock = TRY(lock_files());
  const std::vector<std::string> dirs = TRY(remembered_dirs());
  for (const std::string& dir : dirs) TRY(remove_from(dir, removed));
  TRY(base::remove_file(memory_file()));
  return removed;
}

Result<std::vector<std::string>> refresh_cdi(Env& env, const hook::config::Config& config) {
  if (!TRY(cdi_dir())) return std::vector<std::string>();
  const Fd lock = TRY(lock_files());
  // Another command may have removed the files, or moved them, before it gave the lock back.
  const std::optional<std::string> dir = TRY(cdi_dir());
  if (!dir) return std::vector<std::string>();
  const hook::cdi::Files files = TRY(wanted_cdi_files(env, config));
  return write_files(*dir, files);
}

void refresh_cdi_after_change(Env& env) {
  const auto refresh = [&]() -> Status {
    const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
    TRY(refresh_cdi(env, config));
    return {};
  };
  const Status done = refresh();
  if (!done.ok()) base::log_step(base::LogLevel::kError, done.error().message());
}

void refresh_cdi_after_change() {
  const auto refresh = []() -> Status {
    if (!TRY(cdi_dir())) return {};
    hook::ledger::Ledger ledger = TRY(open_ledger());
    Env env = hook::lifecycle::product_env(ledger);
    refresh_cdi_after_change(env);
    return {};
  };
  const Status done = refresh();
  if (!done.ok()) base::log_step(base::LogLevel::kError, done.error().message());
}

}  // namespace ipuctl
