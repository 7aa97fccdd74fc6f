// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/doctor/rail_findings.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/scheme.h"

namespace ipuctl::doctor {
namespace {

using namespace base::names;

// "1 address", "2 addresses".
std::string count_of(uint32_t count, std::string_view one, std::string_view more) {
  return str(count, " ", count == 1 ? one : more);
}

class RailExam {
 public:
  RailExam(const hook::config::NetworkConfig& network, const hook::config::RailConfig& rail,
           std::vector<Finding>& findings)
      : network_(network), rail_(rail), findings_(findings) {}

  void examine(const HostState& host, const RailState& state) {
    examine_range(host);
    if (host.ledger.ok()) examine_addresses(state);
    if (rail_.base && !host.adopted.empty()) warn_of_adopted(host.adopted);
    if (!rail_.functions.empty() && host.ledger.ok()) examine_functions(state);
    examine_mode();
    if (state.rival) examine_rival(*state.rival);
    if (!state.leaves_checksums_to_device.value_or(true)) warn_of_checksums();
    for (const InterfaceState& interface : state.interfaces) {
      if (interface.is_held) continue;  // a container has it
      const bool is_usable = examine_link(interface, host);
      if (is_usable && rail_.functions.empty()) examine_macvlan(state);
      if (interface.link.ok() && network_.rdma != hook::config::RdmaUse::kOff)
        examine_rdma(interface, state);
    }
  }

 private:
  void add(const std::string& check, Verdict verdict, std::string says, std::string advice = "") {
    findings_.push_back({str(subject_, ": ", check), verdict, std::move(says), std::move(advice)});
  }
  void add_message(const std::string& check, Verdict verdict, const std::string& message) {
    findings_.push_back(finding_of(str(subject_, ": ", check), verdict, message));
  }

  void examine_range(const HostState& host) {
    if (!host.addresses.ok()) {
      return add_message("range", Verdict::kFailed, host.addresses.error().message());
    }
    const base::Status status =
        hook::config::check_host_addresses({.rails = {rail_}}, host.addresses.value());
    if (!status.ok()) return add_message("range", Verdict::kFailed, status.error().message());
    add("range", Verdict::kOk,
        rail_.base ? "no address of this host is one for containers"
                   : "no address of this host is in the range");
  }

  void examine_mode() {
    if (rail_.mode != netns::MacvlanMode::kBridge || rail_.shared_bridge) return;
    add("mode", Verdict::kWarning, "broadcasts of one container reach all others",
        "set shared_bridge = false to have one container at a time, or true if all trust each"
        " other");
  }

  void examine_rival(const Result<std::optional<netns::Rival>>& rival) {
    if (!rival.ok()) return add_message("border", Verdict::kWarning, rival.error().message());
    if (!rival.value())
      return add("border", Verdict::kOk, "nothing decides about frames before the border does");
    add_message("border", rival.value()->refuses ? Verdict::kFailed : Verdict::kWarning,
                rival.value()->says);
  }

  void warn_of_checksums() {
    add("checksums", Verdict::kWarning,
        str("the kernel writes the checksums of ", quote(rail_.parent), " after the border, so a",
            " process that sends raw frames can change two bytes of what the border has passed"),
        str("ethtool -K ", rail_.parent, " tx-checksum-ip-generic on; if its driver cannot, give",
            " containers functions"));
  }

  void examine_addresses(const RailState& state) {
    if (!state.use.ok()) {
      return add_message("addresses", Verdict::kFailed, state.use.error().message());
    }
    const hook::ledger::Ledger::RailUse& use = state.use.value();
    if (const auto span = hook::config::span_of(rail_)) examine_by_ipu(to_string(*span), use);
    if (!rail_.has_range) return;
    const std::string says = str(count_of(use.free, "address is", "addresses are"), " left, ",
                                 use.held, " held, ", use.quarantined, " in quarantine");
    if (use.free > 0) return add("addresses", Verdict::kOk, says);
    add("addresses", Verdict::kFailed, says,
        "run 'ipuctl ps' to see which containers hold them, or enlarge \"range\"");
  }

  void examine_by_ipu(const std::string& span, const hook::ledger::Ledger::RailUse& use) {
    const std::string says = str("each IPU gives one of ", span, ": ", use.held_by_ipu, " held, ",
                                 use.set_aside_by_ipu, " set aside");
    if (use.set_aside_by_ipu == 0) return add("addresses by IPU", Verdict::kOk, says);
    add("addresses by IPU", Verdict::kWarning, says + ", because another host answered for them",
        "set the same \"base\" and \"machines\" on all hosts of the fabric, and keep their other"
        " addresses out of these");
  }

  void warn_of_adopted(const std::vector<std::string>& partitions) {
    add("adopted partitions", Verdict::kWarning,
        str("this host is in no fleet: if another host uses ", base::join(partitions, ", "),
            ", two containers with the same GCD get the same address"),
        "set [fleet] on all hosts that use these partitions, or use them on this host alone");
  }

  void examine_functions(const RailState& state) {
    const auto held = static_cast<uint32_t>(
        std::count_if(state.interfaces.begin(), state.interfaces.end(),
                      [](const InterfaceState& interface) { return interface.is_held; }));
    const uint32_t left = static_cast<uint32_t>(state.interfaces.size()) - held;
    const std::string says =
        str(count_of(left, "function is", "functions are"), " left, ", held, " held");
    if (left > 0) return add("functions", Verdict::kOk, says);
    add("functions", Verdict::kFailed, says,
        "run 'ipuctl ps' to see which containers hold them, or add functions");
  }

  // Returns why another rail is in the way of LINK, a parent; empty if none is.
  std::string find_rail_below(const netns::LinkFacts& link, const HostState& host) const {
    if (network_.filter == netns::FilterPlace::kNamespace) return "";
    for (const RailState& rail : host.rails) {
      for (const InterfaceState& other : rail.interfaces) {
        if (!other.link.ok()) continue;
        std::string why = netns::why_not_above(link, other.link.value());
        if (!why.empty()) return why;
      }
    }
    return "";
  }

  // Returns whether containers can use INTERFACE.
  bool examine_link(const InterfaceState& interface, const HostState& host) {
    const bool is_function = !rail_.functions.empty();
    if (is_function) subject_ = str("function ", interface.name);
    if (!interface.link.ok()) {
      add_message("link", Verdict::kFailed, interface.link.error().message());
      return false;
    }
    const netns::LinkFacts& link = interface.link.value();
    std::string obstacle =
        is_function ? netns::why_no_function(link, rail_.mtu) : netns::why_no_rail(link, rail_.mtu);
    if (obstacle.empty() && !is_function) obstacle = find_rail_below(link, host);
    if (!obstacle.empty()) {
      add_message("link", Verdict::kFailed, obstacle);
      return false;
    }
    if (!is_function && !link.has_carrier) {
      add("link", Verdict::kWarning,
          str(quote(link.name), " has no carrier, so nothing is reachable through it"),
          "check its cable and the switch");
    } else {
      add("link", Verdict::kOk, str(quote(link.name), ", MTU ", link.mtu));
    }
    return true;
  }

  void examine_macvlan(const RailState& state) {
    if (!state.macvlan) return;
    if (!state.macvlan->ok()) {
      return add_message("macvlan", Verdict::kFailed, state.macvlan->error().message());
    }
    add("macvlan", Verdict::kOk, "a macvlan can be created");
  }

  void examine_rdma(const InterfaceState& interface, const RailState& state) {
    if (!interface.rdma.ok()) {
      return add_message("RDMA", Verdict::kFailed, interface.rdma.error().message());
    }
    const std::optional<hook::device::RdmaDevice>& device = interface.rdma.value();
    if (!device) {
      const bool is_needed = network_.rdma == hook::config::RdmaUse::kRequire;
      return add("RDMA", is_needed ? Verdict::kFailed : Verdict::kWarning,
                 str(quote(interface.name), " has no RDMA device, so containers get no RDMA"),
                 "load its RDMA driver; run 'rdma link' to check");
    }
    std::string nodes;
    for (const hook::oci::DeviceNode& node : device->nodes)
      nodes += str(nodes.empty() ? "" : ", ", node.path);
    add("RDMA", Verdict::kOk, str(device->name, " port ", device->port, ": ", nodes));
    if (interface.gids) examine_gids(*device, *interface.gids, state);
    examine_roce_mode(*device, interface.default_roce_mode);
  }

  // Returns how many more containers the port's table has room for. Both its free entries and
  // max_gids limit the number.
  uint32_t room_in(const hook::device::GidTable& gids, const RailState& state) const {
    const auto used = static_cast<uint32_t>(gids.used.size());
    const uint32_t each = hook::device::gid_entries_per_address(gids.used);
    const uint32_t room = (gids.size - std::min(gids.size, used)) / each;
    if (!rail_.max_gids) return room;
    const uint32_t most = *rail_.max_gids / each;
    const uint32_t held =
        state.use.ok() ? state.use.value().held + state.use.value().held_by_ipu : 0;
    return std::min(room, most - std::min(most, held));
  }

  void examine_gids(const hook::device::RdmaDevice& device, const hook::device::GidTable& gids,
                    const RailState& state) {
    const uint32_t room = room_in(gids, state);
    const std::string says =
        str(device.name, " port ", device.port, " uses ", gids.used.size(), " of ", gids.size,
            " entries: room for ", count_of(room, "more container", "more containers"));
    if (room > 0) return add("GIDs", Verdict::kOk, says);
    add("GIDs", Verdict::kFailed, says,
        "remove unneeded addresses from the RNIC, or raise \"max_gids\"");
  }

  void examine_roce_mode(const hook::device::RdmaDevice& device, const std::string& mode) {
    if (mode.empty() || mode == "RoCE v2") return;
    add("RoCE mode", Verdict::kWarning,
        str("rdma_cm uses ", mode, " on ", device.name, " unless a program requests RoCE v2"),
        str("cma_roce_mode -d ", device.name, " -p ", device.port, " -m 2"));
  }

  const hook::config::NetworkConfig& network_;
  const hook::config::RailConfig& rail_;
  std::vector<Finding>& findings_;
  std::string subject_ = str("rail ", name_of(rail_));
};

}  // namespace

void examine_rail(const hook::config::NetworkConfig& network, const hook::config::RailConfig& rail,
                  const HostState& host, const RailState& state, std::vector<Finding>& findings) {
  RailExam(network, rail, findings).examine(host, state);
}

}  // namespace ipuctl::doctor
