// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/env.h"

#include "base/detached.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/log.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/client_user.h"
#include "netns/attach.h"
#include "vipu/local/ipuof.h"
#include "vipu/local/pcie.h"
#include "vipu/process_controller.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

constexpr const char* kSysfs = "/sys";

vipu::Endpoint endpoint_of(const config::PoolConfig& pool) {
  vipu::Endpoint endpoint;
  endpoint.address = pool.controller;
  const config::ControllerSecurity& security = pool.security;
  endpoint.credentials_file = security.credentials;
  endpoint.allow_insecure_credentials = security.insecure_credentials;
  if (security.tls) {
    endpoint.tls = {security.ca, security.certificate, security.key, security.server_name};
  }
  return endpoint;
}

// Without a ledger that can be read, a start fails anyway, and a release needs no taints.
std::vector<vipu::BadIpu> recorded_taints(ledger::Ledger& ledger, const std::string& pool) {
  std::vector<vipu::BadIpu> bad;
  const Result<std::vector<ledger::PoolIpu>> ipus = ledger.health().all();
  if (!ipus.ok()) return bad;
  for (const ledger::PoolIpu& ipu : ipus.value()) {
    if (ipu.pool != pool || ipu.health.taint == vipu::Taint::kNone) continue;
    bad.push_back({ipu.health.ipu, ipu.health.reason});
  }
  return bad;
}

std::unique_ptr<vipu::Controller> make_controller(ledger::Ledger& ledger,
                                                  const config::PoolConfig& pool) {
  const std::string state = str(config::state_dir(), "/pools/", pool.name, ".json");
  switch (pool.provider) {
    case config::Provider::kIpuof:
      return vipu::make_ipuof_controller({pool.name, pool.file, state, pool.taints,
                                          recorded_taints(ledger, pool.name), pool.part});
    case config::Provider::kPcie:
      return vipu::make_pcie_controller({pool.name, state, "/sys", "/dev", pool.groups, pool.taints,
                                         recorded_taints(ledger, pool.name)});
    case config::Provider::kVipu:
      break;
  }
  const ClientUser user = client_user();
  return vipu::make_process_controller(
      {config::client_program(), endpoint_of(pool), user.credentials, user.is_its_own});
}

std::unique_ptr<fleet::Store> make_store(const config::FleetConfig& fleet) {
  const ClientUser user = client_user();
  return fleet::make_process_store(
      {config::fleet_program(), fleet, user.credentials, user.is_its_own});
}

// For a start, which would have to share the processors: it takes less time than this.
constexpr const char* kRefillDelay = "200ms";

void refill_in_background(const std::string& pool) {
  // If this fails, the timer and the next start try again.
  (void)base::start_detached(config::control_program(),
                             {"ipuctl", "pool", "refill", "--pool", pool, "--after", kRefillDelay});
}

void probe_in_background(const std::string& lease_id) {
  // If this fails, nobody answers, as if no host had the address.
  (void)base::start_detached(config::hook_program(),
                             {"ipu-container-hook", "probe", "--lease", lease_id});
}

void reconcile_in_background() {
  // If this fails, the timer and the next start try again.
  (void)base::start_detached(config::hook_program(), {"ipu-container-hook", "reconcile"});
}

}  // namespace

HostView host_view(const std::string& sysfs) {
  return {[sysfs](const std::string& interface) -> Result<netns::LinkFacts> {
            const netns::Namespace host = TRY(netns::Namespace::current());
            return netns::inspect_link(host, interface, sysfs, netns::Taker::kSkip);
          },
          []() -> Result<std::vector<netns::Address>> {
            const netns::Namespace host = TRY(netns::Namespace::current());
            return netns::addresses_of(host);
          },
          []() -> Result<std::vector<netns::Prefix>> {
            const netns::Namespace host = TRY(netns::Namespace::current());
            return netns::broadcasts_of(host);
          },
          []() -> Result<std::optional<netns::RdmaMode>> {
            const netns::Namespace host = TRY(netns::Namespace::current());
            return netns::rdma_mode(host);
          }};
}

std::string kept_namespaces(const Env& env) { return str(env.run_dir, "/netns"); }

ledger::HostWitnesses this_host(const std::string& host_id) {
  ledger::HostPlaces places;
  places.sysfs = kSysfs;
  return ledger::read_witnesses(host_id, places);
}

Result<ledger::Ledger> open_ledger(const std::optional<std::string>& host_id) {
  ledger::Ledger ledger =
      TRY(ledger::Ledger::open_of_host(config::ledger_file(), config::run_dir()));
  // A host without [host] id does not pay for the configuration.
  const bool is_needed = !host_id && TRY(ledger.host().needs_id());
  TRY(ledger.host().be_on(
      this_host(is_needed ? config::load_host_id(config::config_file()) : host_id.value_or(""))));
  return ledger;
}

Env product_env(ledger::Ledger& ledger) {
  const auto security = [](const std::string& pool) {
    return config::load_security(config::config_file(), pool);
  };
  Env env{ledger,
          [&ledger](const config::PoolConfig& pool) { return make_controller(ledger, pool); },
          security,
          refill_in_background,
          probe_in_background,
          reconcile_in_background,
          host_view(kSysfs),
          config::run_dir(),
          config::hook_program(),
          kSysfs,
          /*is_only_ledger=*/true};
  env.is_debugged = config::asks_to_debug();
  env.store = make_store;
  env.fleet = [] { return config::load_fleet(config::config_file()); };
  return env;
}

std::unique_ptr<vipu::Controller> recorded_controller(const Env& env, const std::string& pool,
                                                      const std::string& source) {
  constexpr std::string_view kIpuof = "ipuof:";
  constexpr std::string_view kPcie = "pcie:";
  config::PoolConfig recorded;
  recorded.name = pool;
  if (source.starts_with(kIpuof)) {
    recorded.provider = config::Provider::kIpuof;
    recorded.file = source.substr(kIpuof.size());
  } else if (source.starts_with(kPcie)) {
    recorded.provider = config::Provider::kPcie;
  } else {
    recorded.controller = source;
    recorded.security = env.security(pool);
  }
  return env.controller(recorded);
}

}  // namespace hook::lifecycle
