// SPDX-License-Identifier: Apache-2.0
#include "hook/config/pool.h"

#include <algorithm>
#include <bit>

#include "base/names.h"
#include "base/text.h"
#include "vipu/cli_settings.h"

namespace hook::config {
namespace {

using namespace base::names;

constexpr int64_t kMostChecks = 60;  // an hour of ipu-health.timer

Result<std::string> parse_name(const std::string& text) {
  const bool good = text.size() <= 64 && text != "." && text != ".." &&
                    std::all_of(text.begin(), text.end(), [](char c) {
                      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                             (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
                    });
  if (!good) {
    return Error(
        Code::kInvalid,
        str(base::quote(text), " is not a name of at most 64 letters, digits, '-', '_', '.'"));
  }
  return text;
}

Result<std::string> parse_host_port(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 ||
      !base::parse_int<int>(text.substr(colon + 1), 1, 65535).ok()) {
    return Error(Code::kInvalid,
                 str(base::quote(text), " is not HOST:PORT, such as 10.1.3.101:8090"));
  }
  return text;
}

Result<Provider> parse_provider(const Section& section) {
  constexpr std::string_view kExpected = "\"vipu\", \"ipuof\" or \"pcie\"";
  const std::string text = TRY(section.get_text("provider", kExpected));
  for (const Provider provider : {Provider::kVipu, Provider::kIpuof, Provider::kPcie}) {
    if (text == name_of(provider)) return provider;
  }
  return section.wrong("provider", kExpected);
}

Result<std::string> read_path(const Section& section, std::string_view key) {
  constexpr std::string_view kExpected = "the absolute path of a file";
  const std::optional<std::string> path = TRY(section.find_text(key, kExpected));
  if (!path) return std::string();
  if (!path->starts_with('/')) return section.wrong(key, kExpected);
  return *path;
}

Result<std::map<uint32_t, uint32_t>> read_warm(const Section& section) {
  std::map<uint32_t, uint32_t> warm;
  const std::optional<Section> table = TRY(section.find_table("warm"));
  if (!table) return warm;
  for (const std::string& key : table->keys()) {
    const Result<uint32_t> size = base::parse_int<uint32_t>(key, 1, 256);
    if (!size.ok() || !std::has_single_bit(size.value())) {
      return section.wrong("warm",
                           "a table from partition sizes, powers of two up to 256, to how"
                           " many are kept, such as { \"4\" = 2 }");
    }
    constexpr int64_t kMost = 256;
    const std::optional<int64_t> count =
        TRY(table->find_number(key, 0, kMost, "a number from 0 to 256"));
    if (*count > 0) warm[size.value()] = static_cast<uint32_t>(*count);
  }
  return warm;
}

Status read_controller(const Section& section, const HostFacts& host, PoolConfig& pool) {
  constexpr std::string_view kController = "HOST:PORT of the V-IPU controller";
  const std::optional<std::string> given = TRY(section.find_text("controller", kController));
  if (given) {
    pool.controller = TRY(section.parse_key("controller", *given, parse_host_port));
    return {};
  }
  const std::optional<vipu::CliSettings> found =
      TRY(vipu::find_cli_settings(host.environment, host.vipu_cli_file));
  if (!found) return section.wrong("controller", str("set: ", kController));
  pool.controller = str(found->host, ":", found->port);
  return {};
}

Status refuse_foreign_keys(const Section& section, Provider provider) {
  struct Key {
    std::string_view name;
    bool vipu, ipuof, pcie;
  };
  for (const Key& key :
       {Key{"controller", true, false, false}, Key{"allocation", true, false, false},
        Key{"cluster", true, false, false}, Key{"tls", true, false, false},
        Key{"credentials", true, false, false}, Key{"insecure_credentials", true, false, false},
        Key{"file", false, true, false}, Key{"part", false, true, false},
        Key{"groups", false, false, true}, Key{"taints", false, true, true},
        Key{"backfill", true, true, true}, Key{"health_command", false, true, true},
        Key{"health_checks", false, true, true}, Key{"health_bad", false, true, true},
        Key{"health_hold", false, true, true}}) {
    const bool fits = provider == Provider::kVipu    ? key.vipu
                      : provider == Provider::kIpuof ? key.ipuof
                                                     : key.pcie;
    if (fits || !section.has(key.name)) continue;
    return section.wrong(key.name, str("left out with provider \"", name_of(provider), "\""));
  }
  return {};
}

// Reads how many bad checks taint an IPU, and when it is clean again.
Status read_damping(const Section& section, PoolConfig& pool) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(7 * 24);
  for (const std::string_view key : {"health_checks", "health_bad", "health_hold"}) {
    if (pool.health_command.empty() && section.has(key))
      return section.wrong(key, "left out without health_command");
  }
  vipu::Damping& damping = pool.damping;
  const std::optional<int64_t> looks =
      TRY(section.find_number("health_checks", 1, kMostChecks, "a number from 1 to 60"));
  if (looks) damping.looks = static_cast<uint32_t>(*looks);
  const std::string expected = str("a number from 1 to health_checks, which is ", damping.looks);
  const std::optional<int64_t> bad =
      TRY(section.find_number("health_bad", 1, damping.looks, expected));
  damping.bad = bad ? static_cast<uint32_t>(*bad) : std::min(damping.bad, damping.looks);
  damping.hold = TRY(section.find_duration("health_hold", kLongest)).value_or(damping.hold);
  return {};
}

std::string part_text(uint32_t first, uint32_t size) {
  return str('"', first, '-', first + size - 1, '"');
}

// Parses "FIRST-LAST", which must be a block: placement never leaves one.
Result<vipu::Block> parse_part(const std::string& text) {
  constexpr uint32_t kLast = 4095;
  const size_t dash = std::min(text.find('-'), text.size());
  const auto first = base::parse_int<uint32_t>(text.substr(0, dash), 0, kLast);
  const auto last =
      base::parse_int<uint32_t>(text.substr(std::min(dash + 1, text.size())), 0, kLast);
  if (!first.ok() || !last.ok() || last.value() < first.value()) {
    return Error(Code::kInvalid, str(quote(text), " is not FIRST-LAST, such as \"0-15\", with",
                                     " numbers up to ", kLast));
  }
  const uint32_t size = last.value() - first.value() + 1;
  if (std::has_single_bit(size) && first.value() % size == 0)
    return vipu::Block{first.value(), size};
  uint32_t around = std::bit_ceil(size);
  while (first.value() / around != last.value() / around) around *= 2;
  uint32_t within = std::bit_floor(size);
  const auto start = [&] { return (first.value() + within - 1) / within * within; };
  while (start() + within - 1 > last.value()) within /= 2;
  return Error(
      Code::kInvalid,
      str(quote(text), " is not a power of two of IPUs from a multiple of their number on;",
          " the nearest are ", part_text(start(), within), " and ",
          part_text(first.value() / around * around, around)));
}

Result<std::optional<vipu::Block>> read_part(const Section& section) {
  const std::optional<std::string> text =
      TRY(section.find_text("part", "FIRST-LAST, IPUs of the file, such as \"0-15\""));
  if (!text) return std::optional<vipu::Block>();
  return std::optional<vipu::Block>(TRY(section.parse_key("part", *text, parse_part)));
}

Status check_groups(const Section& section, const PoolConfig& pool) {
  std::vector<uint32_t> cards;
  for (const auto& group : pool.groups) cards.insert(cards.end(), group.begin(), group.end());
  std::sort(cards.begin(), cards.end());
  if (std::adjacent_find(cards.begin(), cards.end()) == cards.end()) return {};
  return section.wrong("groups", "lists in which each card appears once");
}

}  // namespace

Result<ControllerSecurity> read_security(const Section& section) {
  ControllerSecurity security;
  security.credentials = TRY(read_path(section, "credentials"));
  security.insecure_credentials = TRY(section.find_flag("insecure_credentials")).value_or(false);
  const std::optional<Section> tls = TRY(section.find_table("tls"));
  if (!tls) return security;
  TRY(tls->refuse_unknown({"ca", "certificate", "key", "server_name"}));
  security.tls = true;
  security.ca = TRY(read_path(*tls, "ca"));
  security.certificate = TRY(read_path(*tls, "certificate"));
  security.key = TRY(read_path(*tls, "key"));
  if (security.certificate.empty() != security.key.empty()) {
    return tls->wrong(security.key.empty() ? "key" : "certificate",
                      "set: a certificate and its key go together");
  }
  if (security.ca.empty())
    return tls->wrong("ca", "set: the CA that signs the controller's certificate");
  security.server_name =
      TRY(tls->find_text("server_name", "the name in the controller's certificate")).value_or("");
  return security;
}

// A controller leaves out the IPUs that are pinned only if the request names those that it wants,
// which needs their cluster. Those of an allocation are not known.
Status read_backfill(const Section& section, PoolConfig& pool) {
  const bool is_vipu = pool.provider == Provider::kVipu;
  pool.backfill = TRY(section.find_flag("backfill")).value_or(!is_vipu);
  if (!pool.backfill || !is_vipu) return {};
  if (pool.cluster.empty())
    return section.wrong("cluster", "set: with backfill, the toolkit chooses IPUs of a cluster");
  if (!pool.allocation.empty())
    return section.wrong("backfill", "left out with 'allocation', whose IPUs are not known");
  return {};
}

Result<PoolConfig> read_pool(const Section& section, const HostFacts& host) {
  TRY(section.refuse_unknown({"name", "provider", "controller", "timeout", "allocation", "cluster",
                              "tls", "credentials", "insecure_credentials", "file", "part",
                              "groups", "taints", "warm", "backfill", "health_command",
                              "health_checks", "health_bad", "health_hold"}));
  PoolConfig pool;
  const std::string name = TRY(section.get_text("name", "a name for the pool, such as \"pod64\""));
  pool.name = TRY(section.parse_key("name", name, parse_name));
  pool.provider = TRY(parse_provider(section));
  TRY(refuse_foreign_keys(section, pool.provider));
  if (pool.provider == Provider::kVipu) TRY(read_controller(section, host, pool));
  pool.timeout = TRY(section.find_duration("timeout")).value_or(pool.timeout);
  if (pool.timeout.count() == 0) return section.wrong("timeout", "longer than 0");
  pool.allocation = TRY(section.find_text("allocation", "the name of an allocation")).value_or("");
  pool.cluster = TRY(section.find_text("cluster", "the name of a cluster")).value_or("");
  pool.security = TRY(read_security(section));
  pool.file = TRY(read_path(section, "file"));
  if (pool.provider == Provider::kIpuof && pool.file.empty()) {
    return section.wrong("file", "set: the IPUoF file of the partition that the pool divides");
  }
  pool.part = TRY(read_part(section));
  pool.groups = TRY(section.find_number_lists(
      "groups", "lists of the numbers N of /dev/ipuN, such as [[0, 1], [2, 3]]"));
  TRY(check_groups(section, pool));
  pool.taints = TRY(section.find_numbers("taints", "a list of IPU numbers, such as [3, 17]"));
  pool.warm = TRY(read_warm(section));
  pool.health_command = TRY(read_path(section, "health_command"));
  TRY(read_damping(section, pool));
  TRY(read_backfill(section, pool));
  return pool;
}

}  // namespace hook::config
