// SPDX-License-Identifier: Apache-2.0
#include "hook/config/config.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/network.h"
#include "hook/config/pool.h"
#include "hook/config/section.h"
#include "hook/config/wall.h"

namespace hook::config {
namespace {

using namespace base::names;

Status read_sources(const Section& section, PolicyConfig& policy) {
  constexpr std::string_view kExpected = "a list of \"env\" and \"annotation\"";
  const std::vector<std::string> sources = TRY(section.find_texts("sources", kExpected));
  if (sources.empty()) return {};
  policy.allow_env = policy.allow_annotation = false;
  for (const std::string& source : sources) {
    if (source == "env") {
      policy.allow_env = true;
    } else if (source == "annotation") {
      policy.allow_annotation = true;
    } else {
      return section.wrong("sources", kExpected);
    }
  }
  return {};
}

Status read_waiting(const Section& section, PolicyConfig& policy) {
  policy.max_wait = TRY(section.find_duration("max_wait")).value_or(policy.max_wait);
  policy.max_wait_cri = TRY(section.find_duration("max_wait_cri")).value_or(policy.max_wait_cri);
  const std::optional<int64_t> waiters =
      TRY(section.find_number("max_waiters", 0, 10'000, "a number from 0 to 10000"));
  if (waiters) policy.max_waiters = static_cast<uint32_t>(*waiters);
  return {};
}

Result<PolicyConfig> read_policy(const Section& section) {
  TRY(section.refuse_unknown({"max_ipus", "sources", "shared_net_admin", "tenant_variable",
                              "refuse_misspelled", "vipu_endpoint", "max_wait", "max_wait_cri",
                              "max_waiters", "default_tenant"}));
  PolicyConfig policy;
  constexpr int64_t kLargest = 256;  // a POD256
  const std::optional<int64_t> max_ipus =
      TRY(section.find_number("max_ipus", 1, kLargest, "a number from 1 to 256"));
  if (max_ipus) policy.max_ipus = static_cast<uint32_t>(*max_ipus);
  policy.shared_net_admin = TRY(section.find_flag("shared_net_admin")).value_or(false);
  policy.tenant_variable = TRY(section.find_flag("tenant_variable")).value_or(false);
  policy.refuse_misspelled = TRY(section.find_flag("refuse_misspelled")).value_or(true);
  policy.vipu_endpoint = TRY(section.find_flag("vipu_endpoint")).value_or(true);
  policy.default_tenant =
      TRY(section.find_text("default_tenant", "the name of a tenant")).value_or("");
  TRY(read_waiting(section, policy));
  TRY(read_sources(section, policy));
  return policy;
}

Status add_tenants(const Section& root, PolicyConfig& policy) {
  policy.tenants = TRY(read_tenants(root));
  const bool is_known = policy.default_tenant.empty() || policy.tenants.empty() ||
                        find_tenant(policy.tenants, policy.default_tenant) != nullptr;
  if (is_known) return {};
  return root.wrong("policy.default_tenant",
                    str("one of the tenants of this file: ", names_of(policy.tenants)));
}

// Checks that no tenant of this file can get IPUs of another one's allocation.
Status check_walls(const Section& root, const std::string& file, const Config& config) {
  if (!has_walls(config.policy.tenants)) return {};
  const bool is_of_use =
      std::any_of(config.pools.begin(), config.pools.end(),
                  [](const PoolConfig& pool) { return pool.provider == Provider::kVipu; });
  if (!is_of_use)
    return root.wrong("tenant.allocation", "left out without a pool of provider vipu");
  for (const PoolConfig& pool : config.pools) {
    TRY_CTX(file, check_pool(pool, config.policy.tenants, {}));
  }
  return {};
}

// Returns SIZE as tmpfs(5) takes it: "50%", "512m", "16g".
std::optional<std::string> parse_shm_size(std::string_view size) {
  constexpr uint32_t kLargest = 1 << 20;  // 1 TiB in MiB
  struct Unit {
    std::string_view ours;
    std::string_view tmpfs;
    uint32_t most;
  };
  for (const Unit& unit :
       {Unit{"%", "%", 100}, Unit{"MiB", "m", kLargest}, Unit{"GiB", "g", kLargest >> 10}}) {
    if (!size.ends_with(unit.ours)) continue;
    const std::string_view number = size.substr(0, size.size() - unit.ours.size());
    if (base::parse_int<uint32_t>(number, 1, unit.most).ok()) return str(number, unit.tmpfs);
  }
  return std::nullopt;
}

Result<ContainerConfig> read_container(const Section& section) {
  TRY(section.refuse_unknown({"shm_size"}));
  constexpr std::string_view kExpected =
      "a size such as \"16GiB\" or \"512MiB\", a part of the memory such as \"50%\", or \"engine\"";
  ContainerConfig container;
  const std::string size = TRY(section.find_text("shm_size", kExpected)).value_or("50%");
  if (size == "engine") {
    container.shm_size.clear();
    return container;
  }
  const std::optional<std::string> parsed = parse_shm_size(size);
  if (!parsed) return section.wrong("shm_size", kExpected);
  container.shm_size = *parsed;
  return container;
}

Result<LedgerConfig> read_ledger(const Section& section) {
  TRY(section.refuse_unknown({"history"}));
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(365 * 24);
  LedgerConfig ledger;
  ledger.history = TRY(section.find_duration("history", kLongest)).value_or(ledger.history);
  return ledger;
}

Result<std::string> read_host_id(const Section& root) {
  constexpr size_t kLongest = 64;
  constexpr std::string_view kExpected = "1 to 64 of A-Z, a-z, 0-9, '.', '-' and '_'";
  const auto section = TRY(root.find_table("host"));
  if (!section) return std::string();
  TRY(section->refuse_unknown({"id"}));
  std::string id = TRY(section->find_text("id", kExpected)).value_or("");
  const auto is_known = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  };
  if (id.size() <= kLongest && std::all_of(id.begin(), id.end(), is_known)) return id;
  return section->wrong("id", kExpected);
}

Result<AgentConfig> read_agent(const Section& section) {
  TRY(section.refuse_unknown({"show_others", "max_ipus", "max_wait", "max_time"}));
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(365 * 24);
  AgentConfig agent;
  agent.show_others = TRY(section.find_flag("show_others")).value_or(agent.show_others);
  const std::optional<int64_t> max_ipus =
      TRY(section.find_number("max_ipus", 0, 10'000, "a number from 0 to 10000"));
  if (max_ipus) agent.max_ipus = static_cast<uint32_t>(*max_ipus);
  agent.max_wait = TRY(section.find_duration("max_wait")).value_or(agent.max_wait);
  agent.max_time = TRY(section.find_duration("max_time", kLongest)).value_or(agent.max_time);
  if (agent.max_time.count() == 0) return section.wrong("max_time", "longer than 0");
  return agent;
}

Result<std::vector<std::string>> read_runtimes(const Section& root) {
  const std::optional<Section> section = TRY(root.find_table("runtime"));
  if (!section) return default_runtimes();
  TRY(section->refuse_unknown({"paths"}));
  constexpr std::string_view kExpected = "a list of absolute paths, such as [\"/usr/bin/runc\"]";
  std::vector<std::string> paths = TRY(section->find_texts("paths", kExpected));
  for (const std::string& path : paths) {
    if (!path.starts_with('/')) return section->wrong("paths", kExpected);
  }
  return paths.empty() ? default_runtimes() : paths;
}

// Returns whether two pools of cards have one in common.
bool share_cards(const PoolConfig& one, const PoolConfig& other) {
  if (one.groups.empty() || other.groups.empty()) return true;  // all cards of the host
  std::set<uint32_t> cards;
  for (const std::vector<uint32_t>& group : one.groups) cards.insert(group.begin(), group.end());
  return std::any_of(other.groups.begin(), other.groups.end(), [&](const auto& group) {
    return std::any_of(group.begin(), group.end(),
                       [&](uint32_t card) { return cards.contains(card); });
  });
}

// Returns whether two pools of one file have an IPU in common.
bool share_part(const PoolConfig& one, const PoolConfig& other) {
  if (!one.part || !other.part) return true;  // all of the file
  return other.part->first < one.part->first + one.part->size &&
         one.part->first < other.part->first + other.part->size;
}

// Two pools cannot give the same IPUs: each has its own record of who has them.
Status check_parts(const Section& section, const std::vector<PoolConfig>& pools) {
  for (auto pool = pools.begin(); pool != pools.end(); ++pool) {
    for (auto other = pools.begin(); other != pool; ++other) {
      if (other->provider != pool->provider) continue;
      const std::string both = str("pools '", other->name, "' and '", pool->name, "'");
      if (pool->provider == Provider::kPcie && share_cards(*pool, *other)) {
        return section.wrong("pool.groups", str("set in each pool of cards, and without a card of"
                                                " another pool; ",
                                                both, " have cards in common"));
      }
      const bool is_one_file = pool->provider == Provider::kIpuof && other->file == pool->file;
      if (is_one_file && share_part(*pool, *other)) {
        return section.wrong("pool.part", str("set in each pool of one file, and apart from other"
                                              " pools; those of ",
                                              both, " overlap"));
      }
    }
  }
  return {};
}

Result<std::vector<PoolConfig>> read_pools(const Section& root, const HostFacts& host) {
  std::vector<PoolConfig> pools;
  std::set<std::string> names;
  for (const Section& section : TRY(root.find_tables("pool"))) {
    pools.push_back(TRY(read_pool(section, host)));
    if (!names.insert(pools.back().name).second) {
      return section.wrong("name", str("unique: there are two pools '", pools.back().name, "'"));
    }
  }
  TRY(check_parts(root, pools));
  if (pools.empty()) pools.push_back(TRY(detect_pool(host)));
  return pools;
}

}  // namespace

std::string_view name_of(Provider provider) {
  switch (provider) {
    case Provider::kIpuof:
      return "ipuof";
    case Provider::kPcie:
      return "pcie";
    case Provider::kVipu:
      break;
  }
  return "vipu";
}

std::string source_of(const PoolConfig& pool) {
  switch (pool.provider) {
    case Provider::kIpuof:
      return str("ipuof:", pool.file);
    case Provider::kPcie:
      return "pcie:";
    case Provider::kVipu:
      break;
  }
  return pool.controller;
}

bool is_controller(const std::string& source) {
  return !source.starts_with("ipuof:") && !source.starts_with("pcie:");
}

bool uses_network(Provider provider) { return provider != Provider::kPcie; }

std::vector<std::string> default_runtimes() {
  return {"/usr/bin/runc", "/usr/sbin/runc", "/usr/bin/crun"};
}

Result<Config> parse_config(std::string_view text, const std::string& file, const HostFacts& host) {
  const Section root = TRY(Section::parse(text, file));
  TRY(root.refuse_unknown({"runtime", "pool", "network", "policy", "container", "ledger", "agent",
                           "log", "host", "tenant", "fleet", "monitor"}));
  Config config;
  config.runtimes = TRY(read_runtimes(root));
  config.pools = TRY(read_pools(root, host));
  if (const auto section = TRY(root.find_table("network"))) {
    config.network = TRY(read_network(*section));
  }
  if (const auto section = TRY(root.find_table("policy"))) {
    config.policy = TRY(read_policy(*section));
  }
  TRY(add_tenants(root, config.policy));
  TRY(check_walls(root, file, config));
  if (const auto section = TRY(root.find_table("container"))) {
    config.container = TRY(read_container(*section));
  }
  if (const auto section = TRY(root.find_table("ledger"))) {
    config.ledger = TRY(read_ledger(*section));
  }
  if (const auto section = TRY(root.find_table("agent"))) {
    config.agent = TRY(read_agent(*section));
  }
  if (const auto section = TRY(root.find_table("log"))) {
    config.log = TRY(read_log(*section));
  }
  if (const auto section = TRY(root.find_table("monitor"))) {
    config.monitor = TRY(read_monitor(*section));
  }
  config.host_id = TRY(read_host_id(root));
  config.fleet = TRY(read_fleet(root));
  const bool networked =
      std::any_of(config.pools.begin(), config.pools.end(),
                  [](const PoolConfig& pool) { return uses_network(pool.provider); });
  if (networked && config.network.rails.empty()) {
    return root.wrong("network.rail", "set: one [[network.rail]] with parent, subnet and range");
  }
  return config;
}

Result<Config> load_config(const std::string& file) {
  HostFacts host;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    host.environment.emplace_back(*variable);
  }
  const std::optional<std::string> text = TRY(base::read_trusted_file(file, kMaxConfig));
  if (text) return parse_config(*text, file, host);
  const Result<PoolConfig> detected = detect_pool(host);
  if (detected.ok() && !uses_network(detected.value().provider))
    return parse_config("", file, host);
  return Error(Code::kNotFound, str("there is no ", file,
                                    "; write one with a [pool] and a [[network.rail]]"
                                    " (see ipu-container-toolkit(5) for an example)"));
}

ControllerSecurity load_security(const std::string& file, const std::string& name) {
  const auto find = [&]() -> Result<ControllerSecurity> {
    const auto text = TRY(base::read_trusted_file(file, kMaxConfig));
    if (!text) return ControllerSecurity();
    const Section root = TRY(Section::parse(*text, file));
    for (const Section& section : TRY(root.find_tables("pool"))) {
      const std::string found = TRY(section.get_text("name", "a name"));
      if (found == name) return read_security(section);
    }
    return ControllerSecurity();
  };
  const Result<ControllerSecurity> found = find();
  return found.ok() ? found.value() : ControllerSecurity();
}

std::vector<std::string> load_runtimes(const std::string& file) {
  const auto find = [&]() -> Result<std::vector<std::string>> {
    const auto text = TRY(base::read_trusted_file(file, kMaxConfig));
    if (!text) return default_runtimes();
    return read_runtimes(TRY(Section::parse(*text, file)));
  };
  const Result<std::vector<std::string>> found = find();
  return found.ok() ? found.value() : default_runtimes();
}

std::string load_host_id(const std::string& file) {
  const auto find = [&]() -> Result<std::string> {
    const auto text = TRY(base::read_trusted_file(file, kMaxConfig));
    if (!text) return std::string();
    return read_host_id(TRY(Section::parse(*text, file)));
  };
  const Result<std::string> found = find();
  return found.ok() ? found.value() : std::string();
}

Result<std::optional<FleetConfig>> load_fleet(const std::string& file) {
  const auto text = TRY(base::read_trusted_file(file, kMaxConfig));
  if (!text) return std::optional<FleetConfig>();
  return read_fleet(TRY(Section::parse(*text, file)));
}

std::optional<netns::Address> numeric_controller(const PoolConfig& pool) {
  std::string_view host = std::string_view(pool.controller).substr(0, pool.controller.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const Result<netns::Address> address = netns::parse_address(host);
  if (!address.ok()) return std::nullopt;
  return address.value();
}

bool has_named_controller(const PoolConfig& pool) {
  return !pool.controller.empty() && !numeric_controller(pool);
}

Result<PoolConfig> find_pool(const Config& config, const std::string& name) {
  if (name.empty()) return config.pools.front();
  std::string names;
  for (const PoolConfig& pool : config.pools) {
    if (pool.name == name) return pool;
    names += str(names.empty() ? "" : ", ", pool.name);
  }
  return Error(Code::kInvalid,
               str("there is no pool ", base::quote(name), "; the pools are ", names));
}

}  // namespace hook::config
