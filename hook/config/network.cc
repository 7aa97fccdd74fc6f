// SPDX-License-Identifier: Apache-2.0
#include "hook/config/network.h"

#include <algorithm>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/scheme.h"

namespace hook::config {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

Result<RdmaUse> parse_rdma_use(const std::string& text) {
  if (text == "auto") return RdmaUse::kAuto;
  if (text == "require") return RdmaUse::kRequire;
  if (text == "off") return RdmaUse::kOff;
  return Error(Code::kInvalid,
               str(base::quote(text), " is not one of \"auto\", \"require\", \"off\""));
}

Result<HostNetwork> parse_host_network(const std::string& text) {
  if (text == "refuse") return HostNetwork::kRefuse;
  if (text == "isolate") return HostNetwork::kIsolate;
  return Error(Code::kInvalid, str(base::quote(text), " is neither \"refuse\" nor \"isolate\""));
}

constexpr const char* kFilterPlaces = "\"host\", \"nftables\", \"tc\", \"namespace\"";

Result<netns::FilterPlace> parse_filter(const std::string& text) {
  if (text == "host") return netns::FilterPlace::kHost;
  if (text == "nftables") return netns::FilterPlace::kNftables;
  if (text == "tc") return netns::FilterPlace::kTc;
  if (text == "namespace") return netns::FilterPlace::kNamespace;
  return Error(Code::kInvalid, str(base::quote(text), " is not one of ", kFilterPlaces));
}

Status read_modes(const Section& section, NetworkConfig& network) {
  const std::optional<std::string> rdma =
      TRY(section.find_text("rdma", "\"auto\", \"require\" or \"off\""));
  if (rdma) network.rdma = TRY(section.parse_key("rdma", *rdma, parse_rdma_use));
  const std::optional<std::string> host =
      TRY(section.find_text("host_network", "\"refuse\" or \"isolate\""));
  if (host)
    network.host_network = TRY(section.parse_key("host_network", *host, parse_host_network));
  const std::optional<std::string> filter = TRY(section.find_text("filter", kFilterPlaces));
  if (filter) network.filter = TRY(section.parse_key("filter", *filter, parse_filter));
  return {};
}

Status read_waits(const Section& section, NetworkConfig& network) {
  constexpr milliseconds kLongestGidWait{8000};  // the hook has 10 s in all
  constexpr milliseconds kLongestProbe{1000};    // for each rail
  network.gid_wait = TRY(section.find_duration("gid_wait")).value_or(network.gid_wait);
  if (network.gid_wait.count() == 0 || network.gid_wait > kLongestGidWait) {
    return section.wrong("gid_wait", "longer than 0, and at most 8s");
  }
  network.duplicate_probe =
      TRY(section.find_duration("duplicate_probe")).value_or(network.duplicate_probe);
  if (network.duplicate_probe > kLongestProbe) {
    return section.wrong("duplicate_probe", "at most 1s; 0s disables the probe");
  }
  return {};
}

Result<std::optional<uint32_t>> read_limit(const Section& section, std::string_view key) {
  const std::optional<int64_t> limit =
      TRY(section.find_number(key, 1, INT32_MAX, "a number from 1 to 2147483647"));
  if (!limit) return std::optional<uint32_t>();
  return std::optional<uint32_t>(static_cast<uint32_t>(*limit));
}

Result<std::vector<netns::Prefix>> read_prefixes(const Section& section, std::string_view key) {
  constexpr std::string_view kExpected = "a list of prefixes, such as [\"10.2.0.0/16\"]";
  std::vector<netns::Prefix> prefixes;
  for (const std::string& text : TRY(section.find_texts(key, kExpected))) {
    prefixes.push_back(TRY(section.parse_key(key, text, netns::parse_prefix)));
  }
  return prefixes;
}

Status check_interfaces(const Section& section, const std::vector<RailConfig>& rails) {
  std::set<std::string> seen;
  for (const RailConfig& rail : rails) {
    if (!rail.parent.empty() && !seen.insert(rail.parent).second) {
      return section.wrong("rail.parent",
                           str("in one rail only; ", base::quote(rail.parent), " is in two"));
    }
    for (const std::string& function : rail.functions) {
      if (seen.insert(function).second) continue;
      return section.wrong("rail.functions",
                           str("in one rail only; ", base::quote(function), " is in two"));
    }
  }
  return {};
}

Status check_subnets(const Section& section, const std::vector<RailConfig>& rails) {
  for (auto rail = rails.begin(); rail != rails.end(); ++rail) {
    const auto other = std::find_if(rails.begin(), rail, [&](const RailConfig& earlier) {
      return earlier.subnet.overlaps(rail->subnet);
    });
    if (other == rail) continue;
    return section.wrong("rail.subnet",
                         str("disjoint from all other subnets; ", netns::to_string(rail->subnet),
                             " of ", name_of(*rail), " overlaps ", netns::to_string(other->subnet),
                             " of ", name_of(*other)));
  }
  return {};
}

}  // namespace

Result<NetworkConfig> read_network(const Section& section) {
  TRY(section.refuse_unknown({"rdma", "host_network", "gid_wait", "duplicate_probe", "forbidden",
                              "rdma_handles", "rdma_objects", "filter", "guard_forwarding",
                              "forward_allowed", "rail"}));
  NetworkConfig network;
  TRY(read_modes(section, network));
  TRY(read_waits(section, network));
  network.rdma_handles = TRY(read_limit(section, "rdma_handles"));
  network.rdma_objects = TRY(read_limit(section, "rdma_objects"));
  network.guard_forwarding = TRY(section.find_flag("guard_forwarding"));
  network.forbidden = TRY(read_prefixes(section, "forbidden"));
  network.forward_allowed = TRY(read_prefixes(section, "forward_allowed"));
  for (const Section& rail : TRY(section.find_tables("rail"))) {
    network.rails.push_back(TRY(read_rail(rail)));
  }
  TRY(check_interfaces(section, network.rails));
  TRY(check_subnets(section, network.rails));
  return network;
}

std::string name_of(const RailConfig& rail) {
  return rail.parent.empty() ? base::join(rail.functions, ",") : rail.parent;
}

Status check_host_addresses(const NetworkConfig& network,
                            const std::vector<netns::Address>& of_host) {
  for (const RailConfig& rail : network.rails) {
    for (const netns::Address& address : of_host) {
      for (const auto& [key, span] :
           {std::pair{"range", range_of(rail)}, {"base", span_of(rail)}}) {
        if (!span || !span->contains(address)) continue;
        return Error(Code::kInvalid,
                     str(netns::to_string(address), " is an address of this host, but lies in the ",
                         key, " ", to_string(*span), " of rail ", base::quote(name_of(rail)),
                         "; exclude it from '", key, "' of network.rail"));
      }
    }
  }
  return {};
}

}  // namespace hook::config
