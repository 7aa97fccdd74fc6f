// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/check_grant.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/plan/plan.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

// Returns the address of the controller; nothing for an IPUoF file, which has none.
Result<std::optional<netns::Address>> controller_of(const vipu::Grant& grant) {
  if (grant.controller_address.empty()) return std::optional<netns::Address>();
  return std::optional<netns::Address>(
      TRY_CTX("address of the controller, which containers must not reach",
              netns::parse_address(grant.controller_address)));
}

std::vector<netns::Prefix> prohibited(const config::Config& config,
                                      const std::optional<netns::Address>& controller) {
  std::vector<netns::Prefix> prefixes;
  for (const config::RailConfig& rail : config.network.rails) prefixes.push_back(rail.subnet);
  const std::vector<netns::Prefix>& forbidden = config.network.forbidden;
  prefixes.insert(prefixes.end(), forbidden.begin(), forbidden.end());
  if (controller) prefixes.push_back(netns::host_prefix(*controller));
  return prefixes;
}

// Returns why the container must not reach an IPU's endpoint; empty if it may.
std::string why_no_endpoint(const config::Config& config, const HostLook& host,
                            const std::optional<netns::Address>& controller,
                            const ledger::LeasedIpu& ipu) {
  // SSH, the V-IPU agent, the V-IPU controller, and the metrics of an IPU-Machine.
  constexpr std::array<uint16_t, 4> kManagement{22, 8080, 8090, 2112};
  for (const uint16_t port : {ipu.server_port, ipu.rdma_port}) {
    if (std::find(kManagement.begin(), kManagement.end(), port) == kManagement.end()) continue;
    return str("its port ", port, " belongs to the management of IPU-Machines");
  }
  if (controller && ipu.address == *controller) return "it is the controller";
  if (std::find(host.addresses.begin(), host.addresses.end(), ipu.address) != host.addresses.end())
    return "it is this host";
  for (const config::RailConfig& rail : config.network.rails) {
    std::string why = config::why_no_machine(rail, ipu.address);
    if (!why.empty()) return why;
  }
  return "";
}

Status check_endpoints(const config::Config& config, const HostLook& host,
                       const std::optional<netns::Address>& controller,
                       const std::vector<ledger::LeasedIpu>& ipus) {
  for (const ledger::LeasedIpu& ipu : ipus) {
    const std::string why = why_no_endpoint(config, host, controller, ipu);
    if (why.empty()) continue;
    return Error(Code::kDenied, str("the controller granted IPU ", ipu.device, " of ",
                                    netns::to_string(ipu.address), ", but ", why));
  }
  return {};
}

}  // namespace

Result<Granted> check_grant(const config::Config& config, const config::PoolConfig& pool,
                            const HostLook& host, const vipu::Grant& grant,
                            const ledger::Lease& lease) {
  Granted granted;
  const size_t size = grant.cards.empty() ? lease.ipus : grant.cards.size();
  if (size > config.policy.max_ipus) {
    return Error(Code::kDenied,
                 str("the container would get ", size, " IPUs, but policy.max_ipus allows only ",
                     config.policy.max_ipus));
  }
  if (!config::uses_network(pool.provider)) {
    granted.ipus = plan::leased_cards(grant.cards);
    return granted;
  }
  if (pool.provider == config::Provider::kVipu && grant.controller_address.empty()) {
    return Error(Code::kInvalid,
                 "the controller's IPv4 address, which containers must not reach, is unknown");
  }
  if (grant.gcds.size() != 1) {
    return Error(Code::kInternal,
                 str("the controller granted ", grant.gcds.size(), " GCDs instead of one"));
  }
  granted.ipus = TRY(plan::leased_ipus(grant.gcds.front(), lease.ipus));
  granted.rails = TRY(network::choose_rails(host.rails, granted.ipus));
  const std::optional<netns::Address> controller = TRY(controller_of(grant));
  TRY(check_endpoints(config, host, controller, granted.ipus));
  granted.prohibited = prohibited(config, controller);
  return granted;
}

}  // namespace hook::lifecycle::start
