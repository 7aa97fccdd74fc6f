// SPDX-License-Identifier: Apache-2.0
// Checks that find what is wrong with this host before a container does: the observations, and
// their judgement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/config/paths.h"
#include "hook/container/device/rdma.h"
#include "hook/ledger/ledger.h"
#include "netns/flows.h"
#include "netns/link.h"
#include "netns/namespace.h"
#include "netns/rdma.h"
#include "netns/rivals.h"

namespace ipuctl::doctor {

enum class Verdict {
  kOk,
  kWarning,  // containers start, but not as well as they could
  kFailed,   // containers are refused, or will not work
};
[[nodiscard]] std::string_view name_of(Verdict verdict);  // "ok", "warning", "failed"

struct Finding {
  std::string check;  // "ledger", "rail rnic0: addresses"
  Verdict verdict = Verdict::kOk;
  std::string says;
  std::string advice;  // what to do; may be empty
};

// An interface in the configuration: a rail's parent, or one of its functions.
struct InterfaceState {
  std::string name;
  bool is_held = false;  // by a container, so that it is absent from the host now
  base::Result<netns::LinkFacts> link;
  base::Result<std::optional<hook::device::RdmaDevice>> rdma;
  std::optional<hook::device::GidTable> gids;  // of the port of its RDMA device
  std::string default_roce_mode;               // rdma_cm's on that port; empty: unknown
};

struct RailState {
  std::vector<InterfaceState> interfaces;  // the parent alone, or the functions
  std::optional<base::Status> macvlan;     // result of making one; unset: not tried
  base::Result<hook::ledger::Ledger::RailUse> use;
  // What decides before the border of the parent; unset: not looked for.
  std::optional<base::Result<std::optional<netns::Rival>>> rival = {};
  // Of the parent (netns/checksums.h); unset: unknown, or there is no border.
  std::optional<bool> leaves_checksums_to_device = {};
};

// /dev/char/MAJOR:MINOR, with which systemd finds a device that containers get.
struct DeviceLink {
  hook::oci::DeviceNode device;
  bool is_there = false;  // leads to a device of that number
};

struct HostState {
  base::Result<std::string> runtime;   // the low-level runtime
  base::Status ledger;                 // result of opening it
  base::Status client_user = {};       // whether ipu-vipu-client has a user of its own
  std::optional<base::Status> filter;  // result of installing one; unset: not tried
  // How one was made; unset: not tried.
  std::optional<base::Result<netns::FilterPlace>> border = {};
  std::optional<bool> has_guard = {};  // whether the host has one (netns/guard.h); unset: not seen
  // What guard_forwarding = true would end, if the configuration does not say.
  std::vector<netns::Flow> flows = {};
  // The foreign MACs that passed the border of this host.
  std::vector<netns::MacAddress> others = {};
  base::Result<std::vector<netns::Address>> addresses;
  base::Result<std::optional<netns::RdmaMode>> rdma_mode;
  base::Result<uint64_t> memlock;  // bytes that a container may be allowed to lock
  std::vector<RailState> rails;    // in the order of the configuration
  // Partitions of others that this host adopted, if it is in no fleet, so that it does not know who
  // else uses them.
  std::vector<std::string> adopted = {};
  // The links of all devices for containers; unset: systemd does not manage this host's cgroups.
  std::optional<std::vector<DeviceLink>> device_links = {};
  // The last record of a forbidden system call (base/forbidden_calls.h); empty: none.
  std::string forbidden_call = {};
  std::string crash = {};  // the last record of a crash (base/crash_record.h); empty: none
};

// Where to look at the host.
struct HostFolders {
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string run = "/run";
  std::string forbidden_calls = hook::config::forbidden_calls_file();
  std::string crashes = hook::config::crashes_file();
};

enum class Trials { kAllowed, kSkipped };  // whether to make links and filters, and discard them

// Inspects what CONFIG names in HOST and below FOLDERS. LEDGER is the result of opening it. CONFIG
// is a default one if there is none. Leaves no lasting changes.
[[nodiscard]] HostState look_at_host(const hook::config::Config& config,
                                     base::Result<hook::ledger::Ledger>& ledger,
                                     const netns::Namespace& host, const HostFolders& folders,
                                     Trials trials);

// Returns one finding per check. CONFIG is the result of loading it; if that failed, only what does
// not depend on it is judged. STATE must be of the same configuration.
[[nodiscard]] std::vector<Finding> examine(const base::Result<hook::config::Config>& config,
                                           const HostState& state);

}  // namespace ipuctl::doctor
