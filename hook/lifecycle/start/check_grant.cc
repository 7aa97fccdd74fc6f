// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/check_grant.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/container/plan/plan.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

Result<std::vector<netns::Prefix>> prohibited(const config::Config& config,
                                              const vipu::Grant& grant) {
  std::vector<netns::Prefix> prefixes;
  for (const config::RailConfig& rail : config.network.rails) prefixes.push_back(rail.subnet);
  const std::vector<netns::Prefix>& forbidden = config.network.forbidden;
  prefixes.insert(prefixes.end(), forbidden.begin(), forbidden.end());
  if (grant.controller_address.empty()) return prefixes;  // an IPUoF file has no controller
  const netns::Address controller =
      TRY_CTX("address of the controller, which containers must not reach",
              netns::parse_address(grant.controller_address));
  prefixes.push_back(netns::host_prefix(controller));
  return prefixes;
}

}  // namespace

Result<Granted> check_grant(const config::Config& config, const config::PoolConfig& pool,
                            const std::vector<network::HostRail>& rails, const vipu::Grant& grant,
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
  granted.rails = TRY(network::choose_rails(rails, granted.ipus));
  granted.prohibited = TRY(prohibited(config, grant));
  return granted;
}

}  // namespace hook::lifecycle::start
