// SPDX-License-Identifier: Apache-2.0
#include "hook/confinement/lists/phases.h"

#include <linux/capability.h>

#include <initializer_list>

namespace hook::confinement {
namespace {

constexpr uint64_t bits(std::initializer_list<int> capabilities) {
  uint64_t all = 0;
  for (const int capability : capabilities) all |= uint64_t{1} << capability;
  return all;
}

// SYS_RESOURCE: before Linux 5.11, eBPF maps count as locked memory; and on a full file system the
// ledger may use the blocks that are reserved for root.
constexpr uint64_t kWatching = bits({CAP_NET_ADMIN, CAP_BPF, CAP_SYS_RESOURCE});
constexpr uint64_t kProbing = bits({CAP_NET_RAW});
// DAC_OVERRIDE: the attach writes into lease.json, which has mode 0444. DAC_READ_SEARCH: a unit may
// give this alone, which is enough to release.
constexpr uint64_t kLeasing =
    bits({CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
          CAP_SYS_RESOURCE, CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_KILL});
// The ledger on a full disk, and the files of engines, which have the names of containers.
constexpr uint64_t kLooking = bits({CAP_DAC_READ_SEARCH, CAP_SYS_RESOURCE});
constexpr uint64_t kAgent = kLeasing | kWatching;
constexpr uint64_t kAlone = kLeasing | bits({CAP_NET_RAW, CAP_MKNOD, CAP_SYS_CHROOT});

}  // namespace

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kWatch:
      return "watch";
    case Phase::kProbe:
      return "probe";
    case Phase::kLease:
      return "lease";
    case Phase::kAgent:
      return "agent";
    case Phase::kDoor:
      return "door";
    case Phase::kLook:
      return "look";
    case Phase::kAlone:
      break;
  }
  return "alone";
}

uint64_t capabilities_of(Phase phase) {
  switch (phase) {
    case Phase::kWatch:
      return kWatching;
    case Phase::kProbe:
      return kProbing;
    case Phase::kLease:
      return kLeasing;
    case Phase::kAgent:
      return kAgent;
    case Phase::kDoor:
      return 0;
    case Phase::kLook:
      return kLooking;
    case Phase::kAlone:
      break;
  }
  return kAlone;
}

}  // namespace hook::confinement
