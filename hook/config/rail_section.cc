// SPDX-License-Identifier: Apache-2.0
// Reads one [[network.rail]].
#include <algorithm>
#include <array>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/network.h"
#include "hook/config/scheme.h"

namespace hook::config {
namespace {

using namespace base::names;

// Accepts the names that the kernel accepts for an interface.
Result<std::string> parse_interface(const std::string& text) {
  constexpr size_t kMaxLength = 15;  // IFNAMSIZ - 1
  if (text.size() > kMaxLength) {
    return Error(Code::kInvalid, str(quote(text), " is longer than 15 characters"));
  }
  const bool good =
      !text.empty() && text != "." && text != ".." &&
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != '/' && c != ':'; });
  if (!good) {
    return Error(Code::kInvalid, str(quote(text), " is not the name of a network interface"));
  }
  return text;
}

Status read_interfaces(const Section& section, RailConfig& rail) {
  constexpr std::string_view kParent = "the name of the RNIC's network interface";
  constexpr std::string_view kFunctions = "a list of interfaces of VFs or SFs";
  const std::optional<std::string> parent = TRY(section.find_text("parent", kParent));
  if (parent) rail.parent = TRY(section.parse_key("parent", *parent, parse_interface));
  std::set<std::string> seen;
  for (const std::string& text : TRY(section.find_texts("functions", kFunctions))) {
    rail.functions.push_back(TRY(section.parse_key("functions", text, parse_interface)));
    if (seen.insert(text).second) continue;
    return section.wrong("functions", str("different interfaces; ", quote(text), " appears twice"));
  }
  if (rail.parent.empty() && rail.functions.empty()) {
    return section.wrong("parent", str("set: ", kParent, " (or set functions: ", kFunctions, ")"));
  }
  if (rail.parent.empty() || rail.functions.empty()) return {};
  return section.wrong("functions", "left out if 'parent' is set");
}

// Refuses networks that no fabric can use: loopback, multicast and beyond, link-local of IPv6.
Result<netns::Prefix> parse_subnet(const std::string& text) {
  const netns::Prefix subnet = TRY(netns::parse_prefix(text));
  for (const char* reserved : {"127.0.0.0/8", "224.0.0.0/3", "::1/128", "fe80::/10", "ff00::/8"}) {
    const netns::Prefix other = TRY(netns::parse_prefix(reserved));
    if (!subnet.overlaps(other)) continue;
    return Error(Code::kInvalid,
                 str(quote(text), " overlaps ", reserved, ", which no fabric uses"));
  }
  return subnet;
}

struct Range {
  netns::Address first;
  netns::Address last;
};

Result<Range> parse_range(const std::string& text) {
  constexpr uint32_t kMost = 1 << 20;
  const size_t dash = text.find('-');
  if (dash == std::string::npos) {
    return Error(Code::kInvalid,
                 str(quote(text), " is not FIRST-LAST, such as 10.5.200.10-10.5.200.99"));
  }
  const netns::Address first = TRY(netns::parse_address(base::trim(text.substr(0, dash))));
  const netns::Address last = TRY(netns::parse_address(base::trim(text.substr(dash + 1))));
  if (first.family != last.family) {
    return Error(Code::kInvalid, str(quote(text), " mixes IPv4 and IPv6"));
  }
  if (last < first) return Error(Code::kInvalid, str(quote(text), " ends before it begins"));
  if (netns::count_between(first, last, kMost + 1) > kMost) {
    return Error(Code::kInvalid, str(quote(text), " has more than ", kMost, " addresses"));
  }
  return Range{first, last};
}

// Returns what no host can have ADDRESS for: it is the "network" or the "broadcast" address of
// SUBNET. Empty if a host can.
std::string_view reserved_for(const netns::Prefix& subnet, const netns::Address& address) {
  constexpr uint8_t kPointToPoint = 31;  // such a subnet has no network and no broadcast address
  if (!subnet.address.is_ipv4() || subnet.length >= kPointToPoint) return "";
  if (address == subnet.address) return "network";
  return address == netns::last_of(subnet) ? "broadcast" : "";
}

// Checks that all addresses of SPAN, which KEY gives, can be those of containers.
Status check_span(const Section& section, std::string_view key, const netns::Prefix& subnet,
                  const AddressSpan& span) {
  if (!subnet.contains(span.first) || !subnet.contains(span.last)) {
    return section.wrong(
        key, str("inside the subnet ", netns::to_string(subnet), "; ", to_string(span), " is not"));
  }
  for (const netns::Address& end : {subnet.address, netns::last_of(subnet)}) {
    const std::string_view what = reserved_for(subnet, end);
    if (what.empty() || !span.contains(end)) continue;
    return section.wrong(key, str("without ", netns::to_string(end), ", the ", what, " address of ",
                                  netns::to_string(subnet)));
  }
  return {};
}

// Reads where the IPU-Machines are. Containers get their addresses elsewhere.
Status read_machines(const Section& section, RailConfig& rail) {
  const std::optional<std::string> text =
      TRY(section.find_text("machines", "the subnet of the IPU-Machines, such as \"10.5.0.0/20\""));
  if (!text) return {};
  const netns::Prefix machines = TRY(section.parse_key("machines", *text, netns::parse_prefix));
  if (!rail.subnet.contains(machines.address) || machines.length < rail.subnet.length) {
    return section.wrong("machines", str("inside the subnet ", netns::to_string(rail.subnet), "; ",
                                         netns::to_string(machines), " is not"));
  }
  const AddressSpan all{machines.address, last_of(machines)};
  const std::optional<AddressSpan> range = range_of(rail);
  if (range && all.overlaps(*range)) {
    return section.wrong("machines", str("apart from the range ", to_string(*range), "; ",
                                         netns::to_string(machines), " overlaps it"));
  }
  rail.machines = machines;
  return {};
}

Status read_range(const Section& section, RailConfig& rail) {
  const std::optional<std::string> text =
      TRY(section.find_text("range", "FIRST-LAST, addresses of this host's containers"));
  rail.has_range = text.has_value();
  if (!text) return {};
  const Range range = TRY(section.parse_key("range", *text, parse_range));
  rail.first = range.first;
  rail.last = range.last;
  return check_span(section, "range", rail.subnet, {rail.first, rail.last});
}

// Checks 'base' with all that decides which addresses it gives.
Status check_base(const Section& section, const RailConfig& rail) {
  const netns::Prefix& machines = *rail.machines;
  const AddressSpan all{machines.address, netns::last_of(machines)};
  if (netns::count_between(all.first, all.last, kMostMachines + 1) > kMostMachines) {
    return section.wrong(
        "machines", str("a prefix of at most ", kMostMachines, " addresses with scheme = \"ipu\"; ",
                        netns::to_string(machines), " has more"));
  }
  const AddressSpan span = *span_of(rail);
  TRY(check_span(section, "base", rail.subnet, span));
  const std::optional<AddressSpan> range = range_of(rail);
  const auto apart = [&](std::string_view other, const AddressSpan& addresses) {
    return section.wrong(
        "base", str("apart from '", other, "': ", to_string(span), ", the addresses of 'base' with",
                    " four for each of 'machines', overlap ", to_string(addresses)));
  };
  if (span.overlaps(all)) return apart("machines", all);
  if (range && span.overlaps(*range)) return apart("range", *range);
  return {};
}

Status read_scheme(const Section& section, RailConfig& rail) {
  constexpr std::string_view kSchemes = "\"range\" or \"ipu\"";
  constexpr std::string_view kBase = "the address that the first IPU of 'machines' gives";
  const std::string scheme = TRY(section.find_text("scheme", kSchemes)).value_or("range");
  if (scheme != "range" && scheme != "ipu") return section.wrong("scheme", kSchemes);
  TRY(read_range(section, rail));
  TRY(read_machines(section, rail));
  const std::optional<std::string> base = TRY(section.find_text("base", kBase));
  if (scheme == "range") {
    if (base) return section.wrong("base", "left out unless scheme = \"ipu\"");
    if (rail.has_range) return {};
    return section.wrong("range", "set: FIRST-LAST, addresses of this host's containers");
  }
  if (!base) return section.wrong("base", str("set with scheme = \"ipu\": ", kBase));
  if (!rail.machines) {
    return section.wrong("machines",
                         "set with scheme = \"ipu\": the subnet of the IPU-Machines,"
                         " from which their IPUs are counted, such as \"10.5.0.0/22\"");
  }
  rail.base = TRY(section.parse_key("base", *base, netns::parse_address));
  return check_base(section, rail);
}

Result<netns::MacvlanMode> parse_mode(const std::string& text) {
  if (text == "private") return netns::MacvlanMode::kPrivate;
  if (text == "bridge") return netns::MacvlanMode::kBridge;
  return Error(Code::kInvalid, str(quote(text), " is neither \"private\" nor \"bridge\""));
}

// The two parts of "10.5.0.9", "10.5.0.9:2049", "fd00:5::9" or "[fd00:5::9]:2049". A missing port
// is empty.
struct PeerText {
  std::string_view address;
  std::string_view port;
  bool has_port = false;
};

PeerText split_peer(std::string_view text) {
  const size_t bracket = text.find("]:");
  if (text.starts_with('[') && bracket != std::string_view::npos) {
    return {text.substr(1, bracket - 1), text.substr(bracket + 2), true};
  }
  const size_t colon = text.find(':');
  const bool is_ipv6 = colon != text.rfind(':');
  if (colon == std::string_view::npos || is_ipv6) return {text, {}, false};
  return {text.substr(0, colon), text.substr(colon + 1), true};
}

Result<netns::Peer> parse_peer(const std::string& text) {
  // The ports of V-IPU agents and controllers, and of the metrics of IPU-Machines.
  constexpr std::array<uint16_t, 3> kManagement{8080, 8090, 2112};
  const PeerText parts = split_peer(text);
  netns::Peer peer;
  peer.address = TRY_CTX(str("peer ", quote(text)), netns::parse_address(parts.address));
  if (!parts.has_port) return peer;
  peer.port =
      TRY_CTX(str("peer ", quote(text)), base::parse_int<uint16_t>(parts.port, 1, UINT16_MAX));
  if (std::find(kManagement.begin(), kManagement.end(), peer.port) == kManagement.end())
    return peer;
  return Error(Code::kInvalid,
               str("peer ", quote(text), ": port ", peer.port,
                   " belongs to the management of IPU-Machines, which no container may reach"));
}

Status read_peers(const Section& section, RailConfig& rail) {
  constexpr std::string_view kPeers =
      "a list of addresses, such as [\"10.5.0.9\", \"10.5.0.9:2049\", \"[fd00:5::9]:2049\"]";
  std::set<netns::Peer> seen;
  for (const std::string& text : TRY(section.find_texts("peers", kPeers))) {
    const netns::Peer peer = TRY(section.parse_key("peers", text, parse_peer));
    if (!rail.subnet.contains(peer.address)) {
      return section.wrong("peers", str("inside the subnet ", netns::to_string(rail.subnet), "; ",
                                        quote(text), " is not"));
    }
    if (!seen.insert(peer).second) {
      return section.wrong("peers", str("different peers; ", quote(text), " appears twice"));
    }
    rail.peers.push_back(peer);
  }
  return {};
}

Result<netns::Others> parse_others(const std::string& text) {
  if (text == "drop") return netns::Others::kDrop;
  if (text == "pass") return netns::Others::kPass;
  return Error(Code::kInvalid, str(quote(text), " is neither \"drop\" nor \"pass\""));
}

Status read_link(const Section& section, RailConfig& rail) {
  const std::optional<std::string> mode =
      TRY(section.find_text("mode", "\"private\" or \"bridge\""));
  if (mode) rail.mode = TRY(section.parse_key("mode", *mode, parse_mode));
  const bool is_ipv4 = rail.subnet.address.is_ipv4();
  const std::optional<int64_t> mtu = TRY(section.find_number(
      "mtu", is_ipv4 ? 68 : 1280, UINT16_MAX,
      is_ipv4 ? "a number from 68 to 65535" : "a number from 1280, the minimum of IPv6, to 65535"));
  rail.mtu = static_cast<uint32_t>(mtu.value_or(0));
  const std::optional<int64_t> gids =
      TRY(section.find_number("max_gids", 1, UINT16_MAX, "a number from 1 to 65535"));
  if (gids) rail.max_gids = static_cast<uint32_t>(*gids);
  const std::optional<std::string> others =
      TRY(section.find_text("others", "\"drop\" or \"pass\""));
  if (others) rail.others = TRY(section.parse_key("others", *others, parse_others));
  rail.shared_bridge = TRY(section.find_flag("shared_bridge"));
  if (rail.shared_bridge && rail.mode != netns::MacvlanMode::kBridge)
    return section.wrong("shared_bridge", "left out unless mode = \"bridge\"");
  if (rail.functions.empty()) return {};
  for (const std::string_view key :
       {"mode", "max_gids", "others"}) {  // only a shared RNIC has these
    if (section.has(key)) return section.wrong(key, "left out if 'functions' is set");
  }
  return {};
}

}  // namespace

Result<RailConfig> read_rail(const Section& section) {
  TRY(section.refuse_unknown({"parent", "functions", "subnet", "scheme", "range", "base",
                              "machines", "mode", "shared_bridge", "mtu", "peers", "max_gids",
                              "others"}));
  RailConfig rail;
  TRY(read_interfaces(section, rail));
  const std::string subnet = TRY(section.get_text("subnet", "a subnet, such as \"10.5.0.0/16\""));
  rail.subnet = TRY(section.parse_key("subnet", subnet, parse_subnet));
  TRY(read_scheme(section, rail));
  TRY(read_link(section, rail));
  TRY(read_peers(section, rail));
  return rail;
}

std::string why_no_machine(const RailConfig& rail, const netns::Address& address) {
  if (!rail.subnet.contains(address)) return "";
  const std::string_view reserved = reserved_for(rail.subnet, address);
  if (!reserved.empty()) {
    return str("it is the ", reserved, " address of ", netns::to_string(rail.subnet));
  }
  for (const auto& [key, span] : {std::pair{"range", range_of(rail)}, {"base", span_of(rail)}}) {
    if (!span || !span->contains(address)) continue;
    return str("it lies in the ", key, " ", to_string(*span), " of rail ", quote(name_of(rail)),
               ", from which containers get their addresses");
  }
  if (!rail.machines || rail.machines->contains(address)) return "";
  return str("it lies outside of ", netns::to_string(*rail.machines), ", where rail ",
             quote(name_of(rail)),
             " has its IPU-Machines; if one is there, change 'machines' of network.rail");
}

}  // namespace hook::config
