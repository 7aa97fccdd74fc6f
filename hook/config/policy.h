// SPDX-License-Identifier: Apache-2.0
// What containers may ask for, what they get beside IPUs, and how long the ledger keeps history.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hook/config/tenant.h"

namespace hook::config {

// Each waiter is a process of root that takes 0.3 to 0.5 % of a CPU (measured), so these take a
// third of one. A POD64 serves as many at a time, if each asks for one IPU.
inline constexpr uint32_t kDefaultMaxWaiters = 64;

struct PolicyConfig {
  uint32_t max_ipus = 64;  // largest partition that a container may ask for
  bool allow_env = true;   // whether IPU_* variables may ask; images can set them
  bool allow_annotation = true;
  std::chrono::milliseconds max_wait = std::chrono::minutes(15);  // longest IPU_WAIT
  // The same in a pod, if it is less: the kubelet gives up after 2 minutes.
  std::chrono::milliseconds max_wait_cri = std::chrono::seconds(90);
  uint32_t max_waiters = kDefaultMaxWaiters;  // requests that wait on this host at a time
  // Containers with IPUs may share a network namespace with a process that has CAP_NET_ADMIN there.
  bool shared_net_admin = false;
  bool vipu_endpoint = true;        // containers may have a V-IPU endpoint
  bool tenant_variable = false;     // whether IPU_TENANT may name the tenant, or an annotation only
  bool refuse_misspelled = true;    // whether a name such as IPU_COUT is refused
  std::string default_tenant = {};  // of a start that names none, and of no user of a tenant
  std::vector<TenantConfig> tenants = {};  // [[tenant]]; empty: any tenant, without shares
};

struct ContainerConfig {
  // Size of a container's /dev/shm as tmpfs(5) takes it, where the engine gives its default; empty:
  // the engine's. The host's own /dev/shm, which gc-docker gives, has half of the memory.
  std::string shm_size = "50%";
};

inline constexpr std::chrono::milliseconds kDefaultHistory = std::chrono::hours(7 * 24);

struct LedgerConfig {
  // How long ended leases, and events, are kept.
  std::chrono::milliseconds history = kDefaultHistory;
};

// Returns the name of the tenant that has USER, a uid, in its list; empty: none has.
[[nodiscard]] std::string tenant_of_user(const PolicyConfig& policy, int64_t user);

// Returns the tenant of a request for which GIVEN was said, empty: nothing, by USER, its uid, -1:
// unknown. If nothing was said, it is that of the user, or else default_tenant. Fails with kDenied,
// naming the known ones, if there are [[tenant]] and it is none of them. WHAT is what asks: "the
// container".
base::Result<std::string> choose_tenant(const PolicyConfig& policy, const std::string& given,
                                        int64_t user, std::string_view what);

}  // namespace hook::config
