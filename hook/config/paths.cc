// SPDX-License-Identifier: Apache-2.0
#include "hook/config/paths.h"

namespace hook::config {

std::string config_file() { return IPU_SYSCONFDIR "/config.toml"; }
std::string state_dir() { return IPU_STATEDIR; }
std::string ledger_file() { return IPU_STATEDIR "/ledger.db"; }
std::string audit_file() { return IPU_STATEDIR "/audit.log"; }
std::string log_file() { return IPU_STATEDIR "/debug.log"; }
std::string run_dir() { return IPU_RUNDIR; }
std::string jobs_dir() { return IPU_RUNDIR "/slurm"; }
std::string agent_socket() { return IPU_RUNDIR "/agent.sock"; }
std::string forbidden_calls_file() { return IPU_RUNDIR "/forbidden-calls"; }
std::string last_gc_file() { return IPU_RUNDIR "/last-gc"; }
std::string crashes_file() { return IPU_RUNDIR "/crashes"; }
std::string hook_program() { return IPU_BINDIR "/ipu-container-hook"; }
std::string runtime_program() { return IPU_BINDIR "/ipu-container-runtime"; }
std::string control_program() { return IPU_BINDIR "/ipuctl"; }
std::string start_program() { return IPU_LIBEXECDIR "/ipu-container-start"; }
std::string poststop_program() { return IPU_LIBEXECDIR "/ipu-container-poststop"; }
std::string endpoint_program() { return IPU_LIBEXECDIR "/ipu-vipu-endpoint"; }
std::string client_program() { return IPU_LIBEXECDIR "/ipu-vipu-client"; }
std::string fleet_program() { return IPU_LIBEXECDIR "/ipu-fleet-client"; }
std::string slurm_program() { return IPU_LIBEXECDIR "/ipu-slurm"; }
std::string slurm_licences_file() { return IPU_SLURMDIR "/licences.lua"; }
std::string slurm_uplink_file() { return IPU_SYSCONFDIR "/slurm-uplink.conflist"; }

}  // namespace hook::config
