// SPDX-License-Identifier: Apache-2.0
#include "hook/config/fleet.h"

#include <algorithm>

#include "base/names.h"
#include "hook/config/section.h"
#include "vipu/dial.h"
#include "vipu/wire_fields.h"

namespace hook::config {
namespace {

using namespace base::names;

constexpr std::string_view kFleetEndpoints =
    "1 to 9 members of etcd as ADDRESS:PORT with IPv4 addresses, such as [\"10.1.0.5:2379\"]";
constexpr std::string_view kFleetPrefix =
    "a text of A-Z, a-z, 0-9, '/', '-', '_' and '.', at most 64, that begins and ends with '/', "
    "such as \"/ipu/pod1/\"";
constexpr std::string_view kFleetPath = "the absolute path of a file";
constexpr size_t kLongestFleetPrefix = 64;

bool is_fleet_endpoint(const std::string& text) {
  return vipu::wire::is_host_and_port(text) &&
         vipu::wire::is_ip_address(vipu::split_host_and_port(text).host);
}

bool is_fleet_prefix(const std::string& text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '-' || c == '_' || c == '.';
  };
  return text.size() >= 2 && text.size() <= kLongestFleetPrefix && text.front() == '/' &&
         text.back() == '/' && std::all_of(text.begin(), text.end(), fits);
}

Result<std::string> read_fleet_path(const Section& section, std::string_view key) {
  std::string path = TRY(section.find_text(key, kFleetPath)).value_or("");
  if (section.has(key) && !path.starts_with('/')) return section.wrong(key, kFleetPath);
  return path;
}

Status read_fence(const Section& section, FleetConfig& fleet) {
  constexpr std::string_view kFence = "\"operator\" or \"auto\"";
  constexpr std::chrono::hours kLongest{24};
  const std::string fence = TRY(section.find_text("fence", kFence)).value_or("operator");
  if (fence != "operator" && fence != "auto") return section.wrong("fence", kFence);
  fleet.fences_itself = fence == "auto";
  fleet.fence_after = TRY(section.find_duration("fence_after", kLongest)).value_or(kLeastFenceTime);
  fleet.fence_witness = TRY(read_fleet_path(section, "fence_witness"));
  if (fleet.fence_after < kLeastFenceTime) {
    return section.wrong("fence_after", "10m or longer: a host that restarts is not dead");
  }
  const bool has_more = section.has("fence_after") || section.has("fence_witness");
  if (!fleet.fences_itself && has_more) {
    return section.wrong("fence",
                         "\"auto\": without it, 'fence_after' and 'fence_witness' have no"
                         " effect");
  }
  if (fleet.fences_itself && fleet.fence_witness.empty()) {
    return section.wrong("fence_witness",
                         "the absolute path of a program that says whether a host is off, as by its"
                         " BMC: to be suspect is not to be dead");
  }
  return {};
}

Status check_fleet(const Section& section, const FleetConfig& fleet) {
  if (fleet.certificate.empty() != fleet.key.empty()) {
    return section.wrong("certificate", "set together with 'key'");
  }
  if (fleet.ca.empty() && !fleet.certificate.empty()) {
    return section.wrong("ca", "set: a certificate is used with TLS alone");
  }
  if (fleet.ca.empty() && !fleet.server_name.empty()) {
    return section.wrong("ca", "set: a server name is used with TLS alone");
  }
  if (fleet.user.empty() != fleet.password_file.empty()) {
    return section.wrong("user", "set together with 'password_file'");
  }
  // Also on 127.0.0.1: while etcd is down, any user may listen in its place.
  if (fleet.ca.empty() && !fleet.user.empty()) {
    return section.wrong("ca",
                         "set: without TLS, whoever answers in etcd's place reads the password");
  }
  return {};
}

}  // namespace

Result<std::optional<FleetConfig>> read_fleet(const Section& file) {
  const std::optional<Section> section = TRY(file.find_table("fleet"));
  if (!section) return std::optional<FleetConfig>();
  TRY(section->refuse_unknown({"endpoints", "ca", "certificate", "key", "server_name", "user",
                               "password_file", "prefix", "fence", "fence_after",
                               "fence_witness"}));
  FleetConfig fleet;
  fleet.endpoints = TRY(section->find_texts("endpoints", kFleetEndpoints));
  const bool fits = !fleet.endpoints.empty() && fleet.endpoints.size() <= kMaxFleetEndpoints &&
                    std::all_of(fleet.endpoints.begin(), fleet.endpoints.end(), is_fleet_endpoint);
  if (!fits) return section->wrong("endpoints", kFleetEndpoints);
  fleet.ca = TRY(read_fleet_path(*section, "ca"));
  fleet.certificate = TRY(read_fleet_path(*section, "certificate"));
  fleet.key = TRY(read_fleet_path(*section, "key"));
  fleet.server_name = TRY(section->find_text("server_name", "a name")).value_or("");
  fleet.user = TRY(section->find_text("user", "the name of a user of etcd")).value_or("");
  fleet.password_file = TRY(read_fleet_path(*section, "password_file"));
  fleet.prefix = TRY(section->find_text("prefix", kFleetPrefix)).value_or(fleet.prefix);
  if (!is_fleet_prefix(fleet.prefix)) return section->wrong("prefix", kFleetPrefix);
  TRY(check_fleet(*section, fleet));
  TRY(read_fence(*section, fleet));
  return std::optional<FleetConfig>(std::move(fleet));
}

}  // namespace hook::config
