// SPDX-License-Identifier: Apache-2.0
// ipuctl slurm config: prints the lines that Slurm's own files need; see ipu-slurm(8).
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "hook/config/paths.h"
#include "hook/fleet/grants.h"
#include "hook/ledger/lease.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"
#include "vipu/placement.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::config::Config;
using hook::config::PoolConfig;
using hook::config::Provider;
using hook::config::TenantConfig;

// How long a job waits by default; see ipu-slurm(8).
constexpr std::chrono::milliseconds kJobWait = std::chrono::minutes(2);

// Returns the tenants of this host and of its fleet.
Result<std::vector<TenantConfig>> all_tenants(const Config& config) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<TenantConfig> tenants = config.policy.tenants;
  if (const auto fleet = TRY(hook::lifecycle::open_fleet(env))) {
    const hook::fleet::Shares shares = TRY(hook::fleet::read_shares(fleet->at(query_deadline())));
    tenants.insert(tenants.end(), shares.tenants.begin(), shares.tenants.end());
  }
  return tenants;
}

// Returns the longest wait that each tenant may have, at most kJobWait.
Result<std::chrono::milliseconds> wait_for_all(const Config& config) {
  std::chrono::milliseconds wait = std::min(kJobWait, config.policy.max_wait);
  for (const TenantConfig& tenant : TRY(all_tenants(config)))
    wait = std::min(wait, tenant.max_wait.value_or(wait));
  return wait;
}

// Returns how many IPUs the controller of POOL has, without those of named partitions.
Result<uint32_t> licences_of(const PoolConfig& pool) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const vipu::Survey survey = TRY(env.controller(pool)->survey(query_deadline()));
  uint32_t licences = vipu::Occupancy::of(survey).topology().ipus();
  for (const vipu::Partition& each : survey.partitions) {
    const auto taken = static_cast<uint32_t>(each.ipus.size());
    if (!hook::ledger::is_reserved_name(each.id)) licences -= std::min(licences, taken);
  }
  return licences;
}

// V-IPU does not tell how many IPUs an allocation or a cluster has.
Result<bool> is_part(const Config& config, const PoolConfig& pool) {
  if (!pool.allocation.empty() || !pool.cluster.empty()) return true;
  const std::vector<TenantConfig> tenants = TRY(all_tenants(config));
  return std::any_of(tenants.begin(), tenants.end(),
                     [](const TenantConfig& tenant) { return !tenant.allocation.empty(); });
}

Result<std::string> slurm_conf(const Config& config, const PoolConfig& pool) {
  const std::string settings =
      "PrologFlags=Alloc\nProctrackType=proctrack/cgroup\n"
      "# Not if you have PropagateResourceLimits, which this line would replace:\n"
      "PropagateResourceLimitsExcept=MEMLOCK\n";
  if (pool.provider != Provider::kVipu) {
    return str(settings, "# The IPUs of pool ", pool.name,
               " are this host's, which licences do not count: start jobs with --exclusive.\n");
  }
  const bool has_advice = TRY(is_part(config, pool));
  const char* const advice =
      has_advice ? "# Write the number of your allocation or cluster instead:\n" : "";
  return str(settings, "# The IPUs of the controller of pool ", pool.name,
             ", less those of named partitions:\n", advice, "Licenses=ipu:", TRY(licences_of(pool)),
             "\nJobSubmitPlugins=lua\n");
}

Result<std::string> plugstack_conf(const Config& config, const PoolConfig&) {
  const std::chrono::milliseconds wait = TRY(wait_for_all(config));
  return str("required spank_ipu.so wait=", base::format_duration(wait),
             " uplink=", hook::config::slurm_uplink_file(), '\n');
}

Result<std::string> job_submit_lua(const Config&, const PoolConfig& pool) {
  if (pool.provider != Provider::kVipu)
    return str("-- Nothing: licences do not count the IPUs of pool ", pool.name, ".\n");
  return str("local ipu = dofile(\"", hook::config::slurm_licences_file(),
             "\")\n"
             "function slurm_job_submit(job, partitions, user) return ipu.submit(job) end\n"
             "function slurm_job_modify(job, record, partitions, user)"
             " return ipu.modify(job, record, user) end\n");
}

struct SlurmFile {
  const char* name;
  const char* heading;  // comments of the file
  Result<std::string> (*lines)(const Config&, const PoolConfig&);
};

constexpr SlurmFile kSlurmFiles[] = {
    {"slurm.conf",
     "# slurm.conf, on all hosts. Write no setting twice: add the value to a list that is there,\n"
     "# and move lua to its end. Replace another ProctrackType, and an older number of ipu.\n",
     slurm_conf},
    {"plugstack.conf",
     "# plugstack.conf, on all hosts, once they have spank_ipu.so and the uplink's file.\n",
     plugstack_conf},
    {"job_submit.lua",
     "-- job_submit.lua, beside slurm.conf on the host of slurmctld, once the file of the first\n"
     "-- line is there. If you have these functions, see step 4 of ipu-slurm(8).\n",
     job_submit_lua},
};

Result<Outcome> run_config(const std::string& name) {
  const bool is_known =
      std::any_of(std::begin(kSlurmFiles), std::end(kSlurmFiles),
                  [&](const SlurmFile& file) { return name.empty() || name == file.name; });
  if (!is_known) {
    return Error(Code::kInvalid,
                 str(base::quote(name), " is none of slurm.conf, plugstack.conf, job_submit.lua"));
  }
  const Config config = TRY(hook::config::load_config(hook::config::config_file()));
  const PoolConfig pool = TRY(load_pool(""));  // that of all requests that name none
  Outcome outcome;
  for (const SlurmFile& file : kSlurmFiles) {
    if (!name.empty() && name != file.name) continue;
    const std::string lines = TRY(file.lines(config, pool));
    outcome.text += str(outcome.text.empty() ? "" : "\n", file.heading, lines);
  }
  return outcome;
}

}  // namespace

void add_slurm_commands(CLI::App& app, Command& chosen) {
  CLI::App& group =
      add_group(app, {"slurm", "Print what Slurm needs for IPUs", "ipuctl slurm config"});
  const auto name = std::make_shared<std::string>();
  Options options =
      add_command(group,
                  {"config", "Print the lines for slurm.conf, plugstack.conf and job_submit.lua",
                   "ipuctl slurm config\nipuctl slurm config plugstack.conf"},
                  chosen, [name] { return run_config(*name); });
  options.optional_argument("FILE", *name, "Print the lines of this file alone");
}

}  // namespace ipuctl
