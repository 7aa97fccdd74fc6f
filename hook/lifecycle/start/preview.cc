// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/preview.h"

#include <algorithm>
#include <filesystem>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/spec.h"
#include "hook/container/request/cdi.h"
#include "hook/container/request/keys.h"
#include "hook/container/request/request.h"
#include "hook/lifecycle/start/asked.h"
#include "hook/lifecycle/start/create.h"
#include "hook/lifecycle/start/inspect_host.h"
#include "hook/lifecycle/start/neighbours.h"
#include "hook/lifecycle/start/plan_input.h"
#include "hook/lifecycle/start/reserve.h"
#include "vipu/local/cards.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

const std::string kNoLease(32, '0');

ledger::RailLease made_up_rail(const std::string& pool, const ledger::RailRequest& request) {
  const config::RailConfig& config = request.rail;
  ledger::RailLease rail;
  rail.parent = config.parent;
  rail.mode = config.mode;
  rail.mtu = config.mtu;
  rail.interface = request.interface;
  rail.by_ipu = config.base.has_value();
  rail.address = config.base.value_or(config.first);
  rail.mac = ledger::mac_of(pool, rail.address);
  rail.subnet = config.subnet;
  if (!request.functions.empty()) {
    rail.kind = netns::LinkKind::kFunction;
    rail.parent = request.functions.front().interface;
    rail.rdma_device = request.functions.front().rdma_device;
  }
  return rail;
}

ledger::Lease made_up_lease(const std::string& host_tag, const config::PoolConfig& pool,
                            const request::Request& request, uint32_t gcds, const HostLook& host) {
  ledger::Lease lease;
  lease.id = kNoLease;
  lease.attachment = kNoLease;
  lease.pool = pool.name;
  lease.partition =
      request.partition.empty() ? ledger::partition_name(host_tag, kNoLease) : request.partition;
  lease.gcd = request.gcd.value_or(0);
  lease.gcds = gcds;
  lease.ipus = request.ipus;
  for (const network::HostRail& rail : host.rails) {
    if (rail.usable.ok()) lease.rails.push_back(made_up_rail(pool.name, rail.request));
  }
  return lease;
}

Result<std::vector<vipu::Card>> made_up_cards(const request::Request& request) {
  std::vector<vipu::Card> cards = TRY(vipu::local::read_cards("/sys", "/dev"));
  if (!request.cards.empty()) {
    const std::vector<uint32_t>& wanted = request.cards;
    std::erase_if(cards, [&](const vipu::Card& card) {
      return std::find(wanted.begin(), wanted.end(), card.number) == wanted.end();
    });
  } else if (!request.all_cards && cards.size() > request.ipus) {
    cards.resize(request.ipus);
  }
  const size_t wanted = request.cards.empty() ? request.ipus : request.cards.size();
  if (!cards.empty() && (request.all_cards || cards.size() == wanted)) return cards;
  return Error(Code::kNotFound, "this host does not have all cards that the container asks for");
}

// Engines name the bundle by its container. podman and CRI-O have it in a folder of that.
std::string container_of(const std::string& bundle) {
  const std::filesystem::path path(bundle);
  return path.filename() == "userdata" ? path.parent_path().filename() : path.filename();
}

}  // namespace

Result<std::optional<Preview>> preview(Env& env, const Result<config::Config>& config,
                                       const std::string& bundle, const std::string& text) {
  if (!request::mentions_ipus(text)) return std::optional<Preview>();
  oci::SpecView view = TRY(oci::parse_spec(text));
  view.annotations = TRY(request::with_cdi(text, std::move(view.annotations)));
  if (!request::asks_for_ipus(view.environment, view.annotations)) return std::optional<Preview>();
  if (!config.ok()) return config.error();
  std::optional<request::Request> request =
      TRY(asked_of(container_of(bundle), view, config.value().policy));
  if (!request) return std::optional<Preview>();
  request = TRY(resolve_reservation(env, *request));
  const config::PoolConfig pool = TRY(config::find_pool(config.value(), request->pool));
  TRY(check_request(pool, *request));
  TRY(check_mount_points(view, bundle, pool));
  HostLook host;
  vipu::Grant grant;
  if (config::uses_network(pool.provider)) {
    host = TRY(inspect_host(env, config.value().network, view.network));
    if (host.shared && !config.value().policy.shared_net_admin) {
      TRY(check_neighbours(view.network.path, 0, Deadline::after(std::chrono::milliseconds(0))));
    }
  } else {
    grant.cards = TRY(made_up_cards(*request));
  }
  const ledger::Lease lease =
      made_up_lease(env.ledger.host().tag(), pool, *request, gcds_asked(env, pool, *request), host);
  const plan::PlanInput input = TRY(plan_input(env, config.value(), host, grant, lease));
  Preview shown{pool.name, request->ipus, request->partition, {}};
  shown.ignored = request->ignored;
  shown.config = TRY(oci::edit_spec(text, plan::make_plan(input).edit));
  return std::optional<Preview>(std::move(shown));
}

}  // namespace hook::lifecycle::start
