// SPDX-License-Identifier: Apache-2.0
#include "hook/config/config.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

// Some malformed texts (such as "[[[") run into an assertion of toml++ 3.3 instead of an error. It
// must not end the program: it throws, and parse_toml catches it as it does toml++'s own
// exceptions.
#include <stdexcept>
namespace {
[[noreturn]] void fail_assertion() { throw std::logic_error("assertion of toml++"); }
}  // namespace
#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : fail_assertion())
#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "base/fs.h"
#include "base/text.h"

namespace hook {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;

constexpr size_t kMaxBytes = 1 << 20;

// One table of the file, with its name for messages: "pool", "network.rail[0]".
struct Section {
  const toml::table& table;
  std::string name;
  const std::string& file;

  [[nodiscard]] std::string key(std::string_view name_of_key) const {
    return name.empty() ? std::string(name_of_key) : str(name, ".", name_of_key);
  }
  [[nodiscard]] Error wrong(std::string_view name_of_key, std::string_view expected) const {
    return Error(Code::kInvalid, str(file, ": ", key(name_of_key), " must be ", expected));
  }
};

Status refuse_unknown(const Section& section, std::initializer_list<std::string_view> known) {
  for (const auto& [key, node] : section.table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    std::string accepted;
    for (const std::string_view name : known) accepted += str(accepted.empty() ? "" : ", ", name);
    return Error(Code::kInvalid,
                 str(section.file, " line ", key.source().begin.line, ": unknown key '",
                     section.key(key.str()), "'; accepted here: ", accepted));
  }
  return {};
}

Result<std::optional<std::string>> find_text(const Section& section, std::string_view key,
                                             std::string_view expected) {
  const toml::node* node = section.table.get(key);
  if (node == nullptr) return std::optional<std::string>();
  const std::optional<std::string> value = node->value_exact<std::string>();
  if (!value || value->empty()) return section.wrong(key, expected);
  return value;
}

Result<std::string> get_text(const Section& section, std::string_view key,
                             std::string_view expected) {
  std::optional<std::string> value = TRY(find_text(section, key, expected));
  if (!value) return section.wrong(key, str("set: ", expected));
  return std::move(*value);
}

Result<std::vector<std::string>> get_texts(const Section& section, std::string_view key,
                                           std::string_view expected) {
  std::vector<std::string> values;
  const toml::array* array = section.table.get(key)->as_array();
  if (array == nullptr || array->empty()) return section.wrong(key, expected);
  for (const toml::node& node : *array) {
    const std::optional<std::string> value = node.value_exact<std::string>();
    if (!value) return section.wrong(key, expected);
    values.push_back(*value);
  }
  return values;
}

// Runs PARSE on the text of a key and puts file and key in front of its error.
template <typename Parse>
auto parse_key(const Section& section, std::string_view key, const std::string& text, Parse parse) {
  auto value = parse(text);
  using Value = decltype(value);
  if (value.ok()) return value;
  return Value(std::move(value).error().wrap(str(section.file, ": ", section.key(key))));
}

Result<std::string> parse_name(const std::string& text) {
  const bool good = text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
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

Result<PoolConfig> read_pool(const Section& section) {
  TRY(refuse_unknown(section, {"name", "provider", "controller", "timeout"}));
  PoolConfig pool;
  const std::string name = TRY(get_text(section, "name", "a name for the pool, such as \"pod64\""));
  pool.name = TRY(parse_key(section, "name", name, parse_name));
  pool.provider = TRY(get_text(section, "provider", "\"vipu\""));
  if (pool.provider != "vipu") return section.wrong("provider", "\"vipu\"");
  constexpr std::string_view kController = "HOST:PORT of the V-IPU controller";
  const std::string controller = TRY(get_text(section, "controller", kController));
  pool.controller = TRY(parse_key(section, "controller", controller, parse_host_port));
  const std::optional<std::string> timeout =
      TRY(find_text(section, "timeout", "a duration, such as \"120s\""));
  if (timeout) pool.timeout = TRY(parse_key(section, "timeout", *timeout, base::parse_duration));
  if (pool.timeout.count() == 0) return section.wrong("timeout", "longer than 0");
  return pool;
}

struct Range {
  netns::Ipv4 first;
  netns::Ipv4 last;
};

Result<Range> parse_range(const std::string& text) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos) {
    return Error(Code::kInvalid,
                 str(base::quote(text), " is not FIRST-LAST, such as 10.5.200.10-10.5.200.99"));
  }
  const netns::Ipv4 first = TRY(netns::parse_ipv4(base::trim(text.substr(0, dash))));
  const netns::Ipv4 last = TRY(netns::parse_ipv4(base::trim(text.substr(dash + 1))));
  if (last < first) return Error(Code::kInvalid, str(base::quote(text), " ends before it begins"));
  return Range{first, last};
}

Result<RailConfig> read_rail(const Section& section) {
  TRY(refuse_unknown(section, {"parent", "subnet", "range"}));
  RailConfig rail;
  rail.parent = TRY(get_text(section, "parent", "the name of the RNIC's network interface"));
  constexpr size_t kMaxInterfaceName = 15;  // IFNAMSIZ - 1
  if (rail.parent.size() > kMaxInterfaceName)
    return section.wrong("parent", "at most 15 characters");
  const std::string subnet = TRY(get_text(section, "subnet", "a subnet, such as \"10.5.0.0/16\""));
  rail.subnet = TRY(parse_key(section, "subnet", subnet, netns::parse_ipv4_prefix));
  const std::string text =
      TRY(get_text(section, "range", "FIRST-LAST, addresses of this host's containers"));
  const Range range = TRY(parse_key(section, "range", text, parse_range));
  if (!rail.subnet.contains(range.first) || !rail.subnet.contains(range.last)) {
    return section.wrong("range", str("inside of the subnet ", netns::to_string(rail.subnet)));
  }
  rail.first = range.first;
  rail.last = range.last;
  return rail;
}

Result<RdmaMode> parse_rdma_mode(const std::string& text) {
  if (text == "auto") return RdmaMode::kAuto;
  if (text == "require") return RdmaMode::kRequire;
  if (text == "off") return RdmaMode::kOff;
  return Error(Code::kInvalid,
               str(base::quote(text), " is not one of \"auto\", \"require\", \"off\""));
}

Result<NetworkConfig> read_network(const Section& section) {
  TRY(refuse_unknown(section, {"rdma", "host_network", "rail"}));
  NetworkConfig network;
  const std::optional<std::string> rdma =
      TRY(find_text(section, "rdma", "\"auto\", \"require\" or \"off\""));
  if (rdma) network.rdma = TRY(parse_key(section, "rdma", *rdma, parse_rdma_mode));
  const std::optional<std::string> host = TRY(find_text(section, "host_network", "\"refuse\""));
  if (host && *host != "refuse") return section.wrong("host_network", "\"refuse\"");
  const toml::node* rails = section.table.get("rail");
  const toml::array* array = rails == nullptr ? nullptr : rails->as_array();
  if (array == nullptr || array->size() != 1 || !array->front().is_table()) {
    return section.wrong("rail", "one [[network.rail]] with parent, subnet and range");
  }
  const Section rail{*array->front().as_table(), "network.rail", section.file};
  network.rails.push_back(TRY(read_rail(rail)));
  return network;
}

Result<PolicyConfig> read_policy(const Section& section) {
  TRY(refuse_unknown(section, {"max_ipus", "sources"}));
  PolicyConfig policy;
  constexpr int64_t kLargest = 256;  // a POD256
  if (const toml::node* node = section.table.get("max_ipus")) {
    const int64_t value = node->value_exact<int64_t>().value_or(0);
    if (value < 1 || value > kLargest) return section.wrong("max_ipus", "a number from 1 to 256");
    policy.max_ipus = static_cast<uint32_t>(value);
  }
  if (section.table.contains("sources")) {
    constexpr std::string_view kExpected = "a list of \"env\" and \"annotation\"";
    const std::vector<std::string> sources = TRY(get_texts(section, "sources", kExpected));
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
  }
  return policy;
}

Result<std::vector<std::string>> read_runtimes(const Section& section) {
  TRY(refuse_unknown(section, {"paths"}));
  constexpr std::string_view kExpected = "a list of absolute paths, such as [\"/usr/bin/runc\"]";
  if (!section.table.contains("paths")) return default_runtimes();
  std::vector<std::string> paths = TRY(get_texts(section, "paths", kExpected));
  for (const std::string& path : paths) {
    if (!path.starts_with('/')) return section.wrong("paths", kExpected);
  }
  return paths;
}

// The line at which a text that runs into the assertion does so first.
size_t line_of_assertion(std::string_view text) {
  size_t line = 1;
  for (size_t end = text.find('\n'); end != std::string_view::npos;
       end = text.find('\n', end + 1)) {
    try {
      (void)toml::parse(text.substr(0, end));
    } catch (const toml::parse_error&) {  // only cut short
    } catch (const std::logic_error&) {
      return line;
    }
    ++line;
  }
  return line;
}

Result<toml::table> parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    return Error(Code::kInvalid, str(file, " line ", e.source().begin.line, ": ",
                                     base::one_line(e.description(), 200)));
  } catch (const std::logic_error&) {
    return Error(Code::kInvalid, str(file, " line ", line_of_assertion(text), ": not valid TOML"));
  }
}

}  // namespace

std::vector<std::string> default_runtimes() {
  return {"/usr/bin/runc", "/usr/sbin/runc", "/usr/bin/crun"};
}

Result<Config> parse_config(std::string_view text, const std::string& file) {
  const toml::table parsed = TRY(parse_toml(text, file));
  const Section root{parsed, "", file};
  TRY(refuse_unknown(root, {"runtime", "pool", "network", "policy"}));
  for (const auto& [key, node] : root.table) {
    if (!node.is_table()) return root.wrong(key.str(), str("a table, such as [", key.str(), "]"));
  }
  const toml::table empty;
  const auto section = [&](const char* name) {
    const toml::table* table = root.table[name].as_table();
    return Section{table == nullptr ? empty : *table, name, file};
  };
  Config config;
  config.runtimes = TRY(read_runtimes(section("runtime")));
  config.pool = TRY(read_pool(section("pool")));
  config.network = TRY(read_network(section("network")));
  config.policy = TRY(read_policy(section("policy")));
  return config;
}

Result<Config> load_config(const std::string& file) {
  const std::optional<std::string> text = TRY(base::read_file_if_exists(file, kMaxBytes));
  if (!text) {
    return Error(Code::kNotFound, str("there is no ", file,
                                      "; write one with a [pool] and a [[network.rail]]"
                                      " (see ipu-container-toolkit(5) for an example)"));
  }
  return parse_config(*text, file);
}

}  // namespace hook
