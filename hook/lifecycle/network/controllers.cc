// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/controllers.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/network/network_lock.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;

constexpr size_t kMaxRecordBytes = 4096;           // of a file
constexpr std::chrono::seconds kLookUpTime{3};     // for one name
constexpr std::chrono::seconds kRecordingTime{5};  // to wait for others that write
// The lock of the files (network_lock.h). No namespace has this cookie.
constexpr uint64_t kControllersLock = std::numeric_limits<int64_t>::max() - 1;

std::string controllers_dir(const std::string& run_dir) { return run_dir + "/controllers"; }
std::string controller_file(const std::string& run_dir, const std::string& pool) {
  return str(controllers_dir(run_dir), "/", pool);
}

// The content of a file.
struct ControllerRecord {
  std::string controller;
  std::vector<netns::Address> addresses;
};

std::string to_text(const ControllerRecord& record) {
  std::string text = str(record.controller, "\n");
  for (const netns::Address& address : record.addresses) {
    text += str(netns::to_string(address), "\n");
  }
  return text;
}

Status check_number(size_t addresses) {
  if (addresses >= 1 && addresses <= vipu::kMaxControllerAddresses) return {};
  return Error(Code::kInvalid,
               str("it has ", addresses, " addresses, not 1 to ", vipu::kMaxControllerAddresses));
}

Result<ControllerRecord> parse_record(std::string_view text) {
  if (!text.ends_with('\n')) return Error(Code::kInvalid, "its last line is not complete");
  text.remove_suffix(1);
  const std::vector<std::string_view> lines = base::split(text, '\n');
  TRY(check_number(lines.size() - 1));
  ControllerRecord record{std::string(lines.front()), {}};
  for (size_t i = 1; i < lines.size(); ++i) {
    record.addresses.push_back(TRY(netns::parse_address(lines[i])));
  }
  return record;
}

// Returns the addresses that POOL's name had; none if it was not looked up, or if the file is of a
// controller that the pool had before.
Result<std::vector<netns::Address>> read_addresses(const std::string& run_dir,
                                                   const config::PoolConfig& pool) {
  const std::string path = controller_file(run_dir, pool.name);
  const Result<std::string> text = base::read_plain_file(path, kMaxRecordBytes);
  if (!text.ok() && text.error().code() == Code::kNotFound) return std::vector<netns::Address>();
  const Result<ControllerRecord> record = text.ok() ? parse_record(text.value()) : text.error();
  if (!record.ok()) {
    return Error(Code::kInvalid,
                 str("the addresses of controller ", pool.controller, " in ", quote(path),
                     " cannot be read: ", record.error().message(),
                     "; run 'ipuctl gc', which looks the name up and makes the file anew"));
  }
  if (record.value().controller != pool.controller) return std::vector<netns::Address>();
  return record.value().addresses;
}

Status write_controller(const std::string& run_dir, const std::string& pool,
                        const std::string& text) {
  const std::string path = controller_file(run_dir, pool);
  const Result<std::string> before = base::read_plain_file(path, kMaxRecordBytes);
  if (before.ok() && before.value() == text) return {};
  TRY(base::ensure_dir(controllers_dir(run_dir), 0700));
  return base::write_atomic(path, text, {0600, {}, {}});
}

// The lock keeps sweep_controllers() away from a file that is being written.
Result<NetworkLock> lock_controllers(const std::string& run_dir) {
  return NetworkLock::take(run_dir, kControllersLock, Deadline::after(kRecordingTime));
}

// Removes the files of all pools but KEPT, and what a killed process left of a file.
Status sweep_controllers(const std::string& run_dir, const std::set<std::string>& kept) {
  std::error_code failed;
  if (!std::filesystem::exists(controllers_dir(run_dir), failed)) return {};
  const NetworkLock held = TRY(lock_controllers(run_dir));
  std::filesystem::directory_iterator each(controllers_dir(run_dir), failed);
  for (; !failed && each != std::filesystem::directory_iterator(); each.increment(failed)) {
    if (!kept.contains(each->path().filename())) TRY(base::remove_file(each->path()));
  }
  return {};
}

Status look_up_controller(Env& env, const config::PoolConfig& pool, const Deadline& deadline) {
  const auto controller = env.controller(pool);
  const std::vector<std::string> addresses = TRY(controller->addresses(deadline));
  return record_controller(env.run_dir, pool, addresses);
}

}  // namespace

Remembered remembered_controllers(const std::string& run_dir, const config::Config& config) {
  Remembered known;
  for (const config::PoolConfig& pool : config.pools) {
    const std::optional<netns::Address> numeric = config::numeric_controller(pool);
    if (numeric) known.controllers.emplace(*numeric, pool.controller);
    if (!config::has_named_controller(pool)) continue;
    const Result<std::vector<netns::Address>> addresses = read_addresses(run_dir, pool);
    if (!addresses.ok()) {
      known.damaged.push_back(addresses.error());
      continue;
    }
    for (const netns::Address& address : addresses.value()) {
      known.controllers.emplace(address, pool.controller);
    }
  }
  return known;
}

Result<Controllers> known_controllers(const std::string& run_dir, const config::Config& config) {
  Remembered known = remembered_controllers(run_dir, config);
  if (!known.damaged.empty()) return known.damaged.front();
  return std::move(known.controllers);
}

Result<Controllers> learn_controllers(Env& env, const config::Config& config,
                                      const Deadline& deadline) {
  for (const config::PoolConfig& pool : config.pools) {
    const bool is_readable =
        !config::has_named_controller(pool) || read_addresses(env.run_dir, pool).ok();
    // If the look-up fails as well, the error below says what to do.
    if (!is_readable) (void)look_up_controller(env, pool, deadline.capped(kLookUpTime));
  }
  return known_controllers(env.run_dir, config);
}

Status record_controller(const std::string& run_dir, const config::PoolConfig& pool,
                         const std::vector<std::string>& addresses) {
  if (!config::has_named_controller(pool)) return {};
  const std::string what =
      str("addresses of controller ", pool.controller, ", which containers must not reach");
  TRY_CTX(what, check_number(addresses.size()));
  ControllerRecord record{pool.controller, {}};
  for (const std::string& address : addresses) {
    record.addresses.push_back(TRY_CTX(what, netns::parse_address(address)));
  }
  // The order of an answer of DNS changes.
  std::sort(record.addresses.begin(), record.addresses.end());
  const NetworkLock held = TRY(lock_controllers(run_dir));
  return write_controller(run_dir, pool.name, to_text(record));
}

std::vector<Error> look_up_controllers(Env& env, const config::Config& config,
                                       const Deadline& deadline) {
  std::vector<Error> obstacles;
  std::set<std::string> kept;
  for (const config::PoolConfig& pool : config.pools) {
    if (!config::has_named_controller(pool)) continue;
    kept.insert(pool.name);
    const Status done = look_up_controller(env, pool, deadline.capped(kLookUpTime));
    if (done.ok()) continue;
    obstacles.emplace_back(done.error().code(), str("pool '", pool.name,
                                                    "' keeps the addresses of its controller that"
                                                    " were found before: ",
                                                    done.error().message()));
  }
  Status swept = sweep_controllers(env.run_dir, kept);
  if (!swept.ok()) obstacles.push_back(std::move(swept).error());
  return obstacles;
}

}  // namespace hook::lifecycle::network
