// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/check_grant.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/plan/plan.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

using network::Controllers;

// Returns KNOWN with the addresses of the controller of GRANT: the one that answered, and all that
// its name has. An IPUoF file has none.
Result<Controllers> with_granted(Controllers known, const vipu::Grant& grant) {
  std::vector<std::string> addresses = grant.controller_addresses;
  if (!grant.controller_address.empty()) addresses.push_back(grant.controller_address);
  for (const std::string& text : addresses) {
    const netns::Address address = TRY_CTX(
        "address of the controller, which containers must not reach", netns::parse_address(text));
    known.emplace(address, "");
  }
  return known;
}

std::vector<netns::Prefix> prohibited(const config::Config& config,
                                      const Controllers& controllers) {
  std::set<netns::Prefix> prefixes;
  for (const config::RailConfig& rail : config.network.rails) prefixes.insert(rail.subnet);
  prefixes.insert(config.network.forbidden.begin(), config.network.forbidden.end());
  for (const auto& [address, controller] : controllers) {
    prefixes.insert(netns::host_prefix(address));
  }
  return {prefixes.begin(), prefixes.end()};
}

// Returns why the container must not reach an IPU's endpoint; empty if it may.
std::string why_no_endpoint(const config::Config& config,
                            const std::vector<netns::Address>& of_host,
                            const Controllers& controllers, const ledger::LeasedIpu& ipu) {
  // SSH, the V-IPU agent, the V-IPU controller, and the metrics of an IPU-Machine.
  constexpr std::array<uint16_t, 4> kManagement{22, 8080, 8090, 2112};
  for (const uint16_t port : {ipu.server_port, ipu.rdma_port}) {
    if (std::find(kManagement.begin(), kManagement.end(), port) == kManagement.end()) continue;
    return str("its port ", port, " belongs to the management of IPU-Machines");
  }
  const auto controller = controllers.find(ipu.address);
  if (controller != controllers.end()) {
    const std::string& name = controller->second;
    return str("it is a controller", name.empty() ? "" : ", ", name);
  }
  if (std::find(of_host.begin(), of_host.end(), ipu.address) != of_host.end()) {
    return "it is this host";
  }
  for (const config::RailConfig& rail : config.network.rails) {
    std::string why = config::why_no_machine(rail, ipu.address);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace

Status check_endpoints(const config::Config& config, const Controllers& known,
                       const std::vector<netns::Address>& of_host, const vipu::Grant& grant,
                       const std::vector<ledger::LeasedIpu>& ipus) {
  const Controllers controllers = TRY(with_granted(known, grant));
  for (const ledger::LeasedIpu& ipu : ipus) {
    const std::string why = why_no_endpoint(config, of_host, controllers, ipu);
    if (why.empty()) continue;
    return Error(Code::kDenied, str("the controller granted IPU ", ipu.device, " of ",
                                    netns::to_string(ipu.address), ", but ", why));
  }
  return {};
}

Result<Granted> check_grant(const config::Config& config, const config::PoolConfig& pool,
                            const Controllers& known, const HostLook& host,
                            const vipu::Grant& grant, const ledger::Lease& lease) {
  Granted granted;
  const size_t size = grant.cards.empty() ? lease.ipus : grant.cards.size();
  if (size > config.policy.max_ipus) {
    return Error(Code::kDenied,
                 str("the container would get ", size, " IPUs, but policy.max_ipus allows only ",
                     config.policy.max_ipus,
                     "; name a smaller partition or fewer cards, or let an administrator raise"
                     " policy.max_ipus"));
  }
  if (!config::uses_network(pool.provider)) {
    granted.ipus = plan::leased_cards(grant.cards);
    return granted;
  }
  if (pool.provider == config::Provider::kVipu && grant.controller_address.empty()) {
    return Error(Code::kInvalid,
                 "the controller's IPv4 address, which containers must not reach, is unknown");
  }
  if (grant.gcds.size() != lease.gcds) {
    return Error(Code::kInternal, str("the controller granted ", grant.gcds.size(),
                                      " GCDs instead of ", lease.gcds));
  }
  granted.ipus = TRY(plan::leased_ipus(grant.gcds, lease.ipus));
  granted.rails = TRY(network::choose_rails(host.rails, granted.ipus));
  TRY(check_endpoints(config, known, host.addresses, grant, granted.ipus));
  granted.prohibited = prohibited(config, TRY(with_granted(known, grant)));
  return granted;
}

}  // namespace hook::lifecycle::start
