// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/cdi_files.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/fs.h"
#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/cdi/validate.h"
#include "hook/config/paths.h"
#include "hook/ledger/partitions.h"
#include "vipu/local/cards.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Fd;
using hook::lifecycle::Env;

constexpr size_t kMaxPath = 4096;

// One line: the directory in which the files are kept.
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
    for (const vipu::Card& card : cards) {
      const bool is_in = std::find(group.begin(), group.end(), card.number) != group.end();
      if (is_in) shown.groups.back().push_back(card_of(card));
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

}  // namespace

Result<hook::cdi::Files> wanted_cdi_files(Env& env, const hook::config::Config& config) {
  hook::cdi::Inventory inventory;
  inventory.first_pool = config.pools.empty() ? "" : config.pools.front().name;
  for (const hook::config::PoolConfig& pool : config.pools) {
    if (pool.provider != hook::config::Provider::kPcie) continue;
    const std::vector<vipu::Card> cards = TRY(cards_of_host(env));
    inventory.cards.push_back(pool_of(pool, cards));
  }
  for (const hook::ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    if (is_offered(record, config)) inventory.partitions.push_back({record.pool, record.name});
  }
  return hook::cdi::make_files(inventory, env.hook_program);
}

Result<std::optional<std::string>> cdi_dir() {
  const std::optional<std::string> text = TRY(base::read_trusted_file(memory_file(), kMaxPath));
  if (!text) return std::optional<std::string>();
  return std::optional<std::string>(base::trim(*text));
}

Result<std::vector<std::string>> write_cdi_files(const std::string& dir,
                                                 const hook::cdi::Files& files) {
  const Fd fd = TRY(open_dir(dir));
  std::vector<std::string> changed;
  const std::optional<std::string> before = TRY(cdi_dir());
  if (before && *before != dir) TRY(remove_from(*before, changed));
  // Before the files, so that none is ever left that nobody refreshes.
  if (before != dir) TRY(base::write_atomic(memory_file(), dir + "\n", {0600, {}, {}, {}}));
  for (const hook::cdi::File& file : files.files) {
    const bool is_changed = TRY(write_file(dir, fd, file));
    if (is_changed) changed.push_back(str(dir, '/', file.name));
  }
  return changed;
}

Result<std::vector<std::string>> remove_cdi_files() {
  std::vector<std::string> removed;
  const std::optional<std::string> dir = TRY(cdi_dir());
  if (!dir) return removed;
  TRY(remove_from(*dir, removed));
  TRY(base::remove_file(memory_file()));
  return removed;
}

Result<std::vector<std::string>> refresh_cdi(Env& env, const hook::config::Config& config) {
  const std::optional<std::string> dir = TRY(cdi_dir());
  if (!dir) return std::vector<std::string>();
  const hook::cdi::Files files = TRY(wanted_cdi_files(env, config));
  return write_cdi_files(*dir, files);
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

}  // namespace ipuctl
