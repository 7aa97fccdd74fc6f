// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/pool.h"
#include "vipu/cli_settings.h"

namespace hook::config {
namespace {

using namespace base::names;

// Returns the names in DIR; none if DIR cannot be read.
std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code err;
  for (std::filesystem::directory_iterator at(dir, err), end; !err && at != end;
       at.increment(err)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_card(const std::string& name) {
  return name.starts_with("ipu") && base::parse_int<uint32_t>(name.substr(3), 0, 65535).ok();
}

}  // namespace

Result<PoolConfig> detect_pool(const HostFacts& host) {
  PoolConfig pool;
  const std::optional<vipu::CliSettings> cli =
      TRY(vipu::find_cli_settings(host.environment, host.vipu_cli_file));
  if (cli) {
    pool.name = "vipu";
    pool.controller = str(cli->host, ":", cli->port);
    return pool;
  }
  const std::vector<std::string> devices = names_in(host.dev);
  if (std::any_of(devices.begin(), devices.end(), is_card)) {
    pool.name = "pcie";
    pool.provider = Provider::kPcie;
    pool.backfill = true;
    return pool;
  }
  std::vector<std::string> files = names_in(host.ipuof_dir);
  std::erase_if(files, [](const std::string& name) { return !name.ends_with(".conf"); });
  if (files.size() == 1) {
    pool.name = "ipuof";
    pool.provider = Provider::kIpuof;
    pool.backfill = true;
    pool.file = str(host.ipuof_dir, "/", files.front());
    return pool;
  }
  return Error(
      Code::kNotFound,
      str("no source of IPUs: no [pool] is configured, neither VIPU_CLI_API_HOST nor ",
          host.vipu_cli_file, " names a V-IPU controller, there is no ", host.dev,
          "/ipu0, and there is ", files.empty() ? "no" : "more than one", " ", host.ipuof_dir,
          "/*.conf; add a [pool] to the configuration, or try it without hardware with"
          " vipu-simulator(1)"));
}

}  // namespace hook::config
