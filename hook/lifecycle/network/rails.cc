// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/rails.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/scheme.h"
#include "hook/container/device/rdma.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;

Error unusable(const config::RailConfig& rail, std::string_view why) {
  return {Code::kUnsupported, str("network.rail '", name_of(rail), "': ", why)};
}

// Checks the room in the GID table. When the table is full, the kernel only logs a warning, and the
// container could reach nothing.
Status check_gids(Env& env, const config::RailConfig& rail, const device::RdmaDevice& device) {
  const device::GidTable table = TRY(device::read_gids(env.sysfs, device.name, device.port));
  const uint32_t each = device::gid_entries_per_address(table.used);
  const std::string where = str("the GID table of RDMA device '", device.name, "' port ",
                                device.port, " (", table.used.size(), " of ", table.size, " used)");
  if (table.used.size() + each > table.size) {
    return Error(Code::kBusy,
                 str("network.rail '", name_of(rail), "': ", where,
                     " has no room for another container; stop one (see 'ipuctl ps')"));
  }
  const uint32_t held = TRY(env.ledger.held_addresses(rail.parent));
  if (!rail.max_gids || (held + 1) * each <= *rail.max_gids) return {};
  return Error(
      Code::kBusy,
      str("network.rail '", name_of(rail), "': ", held, " containers use all ", *rail.max_gids,
          " entries that max_gids allows in ", where, "; stop one (see 'ipuctl ps')"));
}

// Checks that all containers' namespaces can use the RDMA device, because they share the RNIC.
Status check_shared_rdma(Env& env, const config::NetworkConfig& network,
                         const config::RailConfig& rail) {
  if (network.rdma == config::RdmaUse::kOff) return {};
  const std::optional<device::RdmaDevice> device =
      TRY(device::find_rdma_device(env.sysfs, rail.parent));
  if (!device && network.rdma == config::RdmaUse::kRequire) {
    return Error(Code::kUnsupported, str("network.rdma is \"require\", but interface '",
                                         rail.parent, "' has no RDMA device; see 'rdma link'"));
  }
  if (!device) return {};
  const std::optional<netns::RdmaMode> mode = TRY(env.host.rdma_mode());
  if (mode == netns::RdmaMode::kExclusive) {
    return unusable(rail, str("containers cannot share RDMA device '", device->name,
                              "', because RDMA is in exclusive mode; run 'rdma system set netns"
                              " shared' before there is another network namespace, boot with"
                              " ib_core.netns_mode=1, or give the rail 'functions' instead of"
                              " 'parent'"));
  }
  return check_gids(env, rail, *device);
}

// Checks that no other rail has an interface below LINK as its parent.
Status check_below(Env& env, const config::NetworkConfig& network, const config::RailConfig& rail,
                   const netns::LinkFacts& link) {
  if (link.below.empty() || network.filter == netns::FilterPlace::kNamespace) return {};
  for (const config::RailConfig& other : network.rails) {
    if (other.parent.empty() || other.parent == rail.parent) continue;
    const Result<netns::LinkFacts> below = env.host.link(other.parent);
    if (!below.ok()) continue;
    const std::string why = netns::why_not_above(link, below.value());
    if (!why.empty()) return unusable(rail, why);
  }
  return {};
}

Status check_parent(Env& env, const config::NetworkConfig& network,
                    const config::RailConfig& rail) {
  const netns::LinkFacts link =
      TRY_CTX(str("network.rail '", rail.parent, "'"), env.host.link(rail.parent));
  const std::string why = netns::why_no_rail(link, rail.mtu);
  if (!why.empty()) return unusable(rail, why);
  TRY(check_below(env, network, rail, link));
  return check_shared_rdma(env, network, rail);
}

// Returns the functions that are on the host. A missing one is in a container, or the driver has
// not made it.
Result<std::vector<ledger::HostFunction>> find_functions(Env& env,
                                                         const config::NetworkConfig& network,
                                                         const config::RailConfig& rail) {
  std::vector<ledger::HostFunction> functions;
  std::string last_reason = "none of its functions is on the host";
  for (const std::string& name : rail.functions) {
    const Result<netns::LinkFacts> link = env.host.link(name);
    if (!link.ok()) continue;
    const std::string why = netns::why_no_function(link.value(), rail.mtu);
    std::optional<device::RdmaDevice> device;
    if (network.rdma != config::RdmaUse::kOff)
      device = TRY(device::find_rdma_device(env.sysfs, name));
    if (!why.empty()) {
      last_reason = why;
    } else if (!device && network.rdma == config::RdmaUse::kRequire) {
      last_reason = str("network.rdma is \"require\", but '", name, "' has no RDMA device");
    } else {
      functions.push_back({name, link.value().mac, device ? device->name : ""});
    }
  }
  const ledger::Ledger::RailUse use = TRY(env.ledger.use_of(rail));
  if (functions.empty() && use.held + use.held_by_ipu == 0) return unusable(rail, last_reason);
  return functions;
}

Status inspect(Env& env, const config::NetworkConfig& network,
               const std::vector<netns::Address>& of_host, ledger::RailRequest& request) {
  const config::RailConfig& rail = request.rail;
  config::NetworkConfig this_rail;
  this_rail.rails = {rail};
  TRY(config::check_host_addresses(this_rail, of_host));
  if (rail.functions.empty()) return check_parent(env, network, rail);
  request.functions = TRY(find_functions(env, network, rail));
  return {};
}

// Returns the address that the first of IPUS on RAIL gives: any order of theirs gives the same.
Result<netns::Address> address_of(const config::RailConfig& rail,
                                  const std::vector<ledger::LeasedIpu>& ipus) {
  std::optional<std::pair<netns::Address, uint32_t>> first;
  for (const ledger::LeasedIpu& ipu : ipus) {
    const std::pair here(ipu.address, ipu.device);
    if (rail.subnet.contains(ipu.address) && (!first || here < *first)) first = here;
  }
  return config::address_by_ipu(rail, first->first, first->second);
}

}  // namespace

Result<std::vector<HostRail>> inspect_rails(Env& env, const config::NetworkConfig& network,
                                            const std::vector<netns::Address>& of_host) {
  std::vector<HostRail> rails;
  for (const config::RailConfig& rail : network.rails) {
    HostRail host{{rail, str("roce", rails.size()), {}}, {}};
    host.usable = inspect(env, network, of_host, host.request);
    rails.push_back(std::move(host));
  }
  const auto is_usable = [](const HostRail& rail) { return rail.usable.ok(); };
  if (!rails.empty() && std::none_of(rails.begin(), rails.end(), is_usable)) {
    return rails.front().usable.error();
  }
  return rails;
}

Result<std::vector<ledger::RailRequest>> choose_rails(const std::vector<HostRail>& rails,
                                                      const std::vector<ledger::LeasedIpu>& ipus) {
  std::vector<ledger::RailRequest> chosen;
  for (const HostRail& rail : rails) {
    const auto is_reached = [&](const ledger::LeasedIpu& ipu) {
      return rail.request.rail.subnet.contains(ipu.address);
    };
    if (std::none_of(ipus.begin(), ipus.end(), is_reached)) continue;
    TRY(Status(rail.usable));
    chosen.push_back(rail.request);
    const config::RailConfig& config = rail.request.rail;
    if (config.base) chosen.back().by_ipu = TRY(address_of(config, ipus));
  }
  for (const ledger::LeasedIpu& ipu : ipus) {
    const auto reaches = [&](const ledger::RailRequest& rail) {
      return rail.rail.subnet.contains(ipu.address);
    };
    if (std::any_of(chosen.begin(), chosen.end(), reaches)) continue;
    return Error(Code::kInvalid,
                 str("IPU-Machine ", netns::to_string(ipu.address),
                     " of the partition is in no"
                     " subnet of a [[network.rail]]; add a rail for it to the configuration"));
  }
  return chosen;
}

}  // namespace hook::lifecycle::network
