// SPDX-License-Identifier: Apache-2.0
// The installed paths of the product. They are fixed at build time: a program that runs as root in
// front of containers takes no path from its environment.
#pragma once

#include <string>

namespace hook::config {

[[nodiscard]] std::string config_file();   // /etc/ipu-container-toolkit/config.toml
[[nodiscard]] std::string state_dir();     // /var/lib/ipu-container-toolkit
[[nodiscard]] std::string ledger_file();   // /var/lib/ipu-container-toolkit/ledger.db
[[nodiscard]] std::string audit_file();    // /var/lib/ipu-container-toolkit/audit.log
[[nodiscard]] std::string log_file();      // /var/lib/ipu-container-toolkit/debug.log
[[nodiscard]] std::string run_dir();       // /run/ipu-container-toolkit
[[nodiscard]] std::string last_gc_file();  // "TIME OBSTACLES": when gc ended, unix time in ms
[[nodiscard]] std::string crashes_file();  // /run/ipu-container-toolkit/crashes
[[nodiscard]] std::string jobs_dir();      // /run/ipu-container-toolkit/slurm, for root alone
[[nodiscard]] std::string agent_socket();  // /run/ipu-container-toolkit/agent.sock
[[nodiscard]] std::string forbidden_calls_file();  // /run/ipu-container-toolkit/forbidden-calls
[[nodiscard]] std::string hook_program();          // .../bin/ipu-container-hook
[[nodiscard]] std::string runtime_program();       // .../bin/ipu-container-runtime
[[nodiscard]] std::string control_program();       // .../bin/ipuctl
[[nodiscard]] std::string start_program();  // .../libexec/ipu-container-toolkit/ipu-container-start
[[nodiscard]] std::string poststop_program();  // ... /ipu-container-poststop
[[nodiscard]] std::string endpoint_program();  // ... /ipu-vipu-endpoint
[[nodiscard]] std::string client_program();    // .../libexec/ipu-container-toolkit/ipu-vipu-client
[[nodiscard]] std::string fleet_program();     // .../libexec/ipu-container-toolkit/ipu-fleet-client
[[nodiscard]] std::string slurm_program();     // ... /ipu-slurm
[[nodiscard]] std::string slurm_licences_file();  // .../share/.../slurm/licences.lua
[[nodiscard]] std::string slurm_uplink_file();  // /etc/ipu-container-toolkit/slurm-uplink.conflist

}  // namespace hook::config
