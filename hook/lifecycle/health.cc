// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/health.h"

#include <algorithm>
#include <map>

#include "base/names.h"
#include "base/process.h"
#include "base/text.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using vipu::IpuAttributes;
using vipu::IpuHealth;
using Ipus = std::map<std::string, IpuAttributes>;  // by name

constexpr size_t kMaxOutput = size_t{1} << 20;
// Debian's `nobody` and `nogroup`; never the user of ipu-vipu-client, which may hold secrets.
constexpr base::Credentials kHealthUser{65534, 65534};

// Returns the name that a local pool gives to an IPU (local::Pool::ipus).
std::string name_of(const IpuAttributes& ipu) {
  const auto pci = ipu.attributes.find("pci id");
  return pci == ipu.attributes.end() ? str(ipu.agent, ":", ipu.ipu) : pci->second;
}

Result<Ipus> ipus_of(Env& env, const config::PoolConfig& pool, const Deadline& deadline) {
  if (pool.provider == config::Provider::kVipu) {
    return Error(Code::kUnsupported, str("pool ", quote(pool.name),
                                         ": its V-IPU controller places the partitions, so"
                                         " no IPU can be left out here; use the controller's"
                                         " own means"));
  }
  Ipus ipus;
  for (IpuAttributes& ipu : TRY(env.controller(pool)->attributes({}, deadline))) {
    const std::string name = name_of(ipu);
    ipus.emplace(name, std::move(ipu));
  }
  return ipus;
}

Result<std::string> run_command(const config::PoolConfig& pool, const Deadline& deadline) {
  base::Command command;
  command.path = pool.health_command;
  command.args = {command.path};
  command.env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
                 str("IPU_POOL=", pool.name), str("IPUOF_CONFIG_PATH=", pool.file)};
  command.max_output = kMaxOutput;
  command.credentials = kHealthUser;
  const base::Output output = TRY(base::run(command, deadline));
  if (output.exit_status == 0) return output.out;
  return Error(Code::kInternal, str("it failed with exit status ", output.exit_status,
                                    "; it runs as nobody, without capabilities"));
}

bool has_ipu(const ledger::Lease& lease, const IpuAttributes& ipu) {
  return std::any_of(lease.devices.begin(), lease.devices.end(), [&](const auto& device) {
    const bool is_card = ipu.attributes.contains("pci id");
    return device.device == ipu.ipu && (is_card || netns::to_string(device.address) == ipu.agent);
  });
}

// Tells the owners of live leases what became of their IPUs.
Status tell_owners(Env& env, const std::string& pool, const Ipus& ipus,
                   const std::vector<IpuHealth>& changed) {
  if (changed.empty()) return {};
  for (const ledger::Lease& lease : TRY(env.ledger.live())) {
    if (lease.pool != pool) continue;
    for (const IpuHealth& health : changed) {
      const auto ipu = ipus.find(health.ipu);
      if (ipu == ipus.end() || !has_ipu(lease, ipu->second)) continue;
      const std::string text = health.taint == vipu::Taint::kNone
                                   ? str("its IPU ", health.ipu, " is no longer tainted")
                                   : str("its IPU ", health.ipu, " is tainted: ", health.reason,
                                         "; the container goes on, but may fail");
      TRY(env.ledger.events().record(lease, text));
    }
  }
  return {};
}

constexpr std::string_view kTorn = "its partition is in state ERROR";
constexpr std::string_view kWhole = "its partition is ACTIVE again";
constexpr size_t kMaxReasons = 300;  // bytes

// Returns what the lease was told last of its partition's state; empty: nothing.
Result<std::string> last_told(Env& env, const ledger::Lease& lease) {
  std::string last;
  for (ledger::Event& event : TRY(env.ledger.events().of_lease(lease.id))) {
    const bool is_of_it = event.text.starts_with(kTorn) || event.text.starts_with(kWhole);
    if (is_of_it) last = std::move(event.text);
  }
  return last;
}

// Returns what to tell of a partition now; empty: nothing.
Result<std::string> text_of(vipu::Controller& controller, const vipu::Partition& partition,
                            const Deadline& deadline) {
  if (partition.ready == vipu::ReadyState::kActive) return std::string(kWhole);
  if (partition.ready != vipu::ReadyState::kError) return std::string();
  const vipu::PartitionStatus status = TRY(controller.status(partition.id, deadline));
  const std::string reasons = base::one_line(base::join(status.errors, ", "), kMaxReasons);
  return str(kTorn, reasons.empty() ? "" : ": ", reasons, "; the container goes on, but may fail");
}

// Returns the live leases of partitions that POOL's controller has.
Result<std::vector<ledger::Lease>> leases_of(Env& env, const config::PoolConfig& pool) {
  std::vector<ledger::Lease> leases = TRY(env.ledger.live());
  std::erase_if(leases, [&](const ledger::Lease& lease) {
    const bool has_it = lease.state == ledger::LeaseState::kAllocated ||
                        lease.state == ledger::LeaseState::kRunning;
    return !has_it || lease.pool != pool.name || lease.controller != config::source_of(pool);
  });
  return leases;
}

}  // namespace

Result<std::vector<Told>> check_partitions(Env& env, const config::PoolConfig& pool,
                                           const Deadline& deadline) {
  std::vector<Told> told;
  std::vector<ledger::Lease> leases = TRY(leases_of(env, pool));
  if (leases.empty()) return told;
  const auto controller = env.controller(pool);
  const std::vector<vipu::Partition> partitions = TRY(controller->list(deadline));
  Status worst;
  for (ledger::Lease& lease : leases) {
    const auto at = std::find_if(partitions.begin(), partitions.end(), [&](const auto& partition) {
      return partition.id == lease.partition;
    });
    if (at == partitions.end()) continue;
    const Result<std::string> said = text_of(*controller, *at, deadline);
    if (!said.ok()) worst = said.error();  // others may be told nevertheless
    const std::string text = said.ok() ? said.value() : "";
    const std::string last = TRY(last_told(env, lease));
    if (text.empty() || text == last || (text == kWhole && last.empty())) continue;
    TRY(env.ledger.events().record(lease, text));
    told.push_back({std::move(lease), text});
  }
  if (told.empty() && !worst.ok()) return worst.error();
  return told;
}

Result<std::vector<IpuHealth>> check_health(Env& env, const config::PoolConfig& pool,
                                            const Deadline& deadline) {
  if (pool.health_command.empty()) {
    return Error(Code::kInvalid,
                 str("pool ", quote(pool.name), " has no health_command; set one in config.toml"));
  }
  const Ipus ipus = TRY(ipus_of(env, pool, deadline));
  std::vector<std::string> names;
  for (const auto& [name, ipu] : ipus) names.push_back(name);
  const std::string what =
      str("pool ", quote(pool.name), ": health_command ", quote(pool.health_command));
  const std::string output = TRY_CTX(what, run_command(pool, deadline));
  const std::vector<vipu::Observation> seen = TRY_CTX(what, vipu::parse_health(output, names));
  const std::vector<IpuHealth> changed =
      TRY(env.ledger.health().observe(pool.name, seen, pool.damping));
  TRY(tell_owners(env, pool.name, ipus, changed));
  return changed;
}

Status taint_ipu(Env& env, const config::PoolConfig& pool, const std::string& ipu,
                 const std::string& reason) {
  const Ipus ipus = TRY(ipus_of(env, pool, Deadline::after(pool.timeout)));
  if (!ipus.contains(ipu)) {
    return Error(Code::kInvalid,
                 str("pool ", quote(pool.name), " has no IPU ", quote(ipu), "; an IPU is named as ",
                     pool.provider == config::Provider::kPcie ? "its PCI address, 0000:35:00.0"
                                                              : "in its IPUoF file, ip:device_id",
                     ipus.empty() ? "" : str(", such as ", ipus.begin()->first)));
  }
  TRY(env.ledger.health().taint(pool.name, ipu, reason));
  return tell_owners(env, pool.name, ipus, {{ipu, vipu::Taint::kOperator, reason}});
}

}  // namespace hook::lifecycle
