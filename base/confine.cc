// SPDX-License-Identifier: Apache-2.0
#include "base/confine.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>

#include "base/capabilities.h"
#include "base/confine_filter.h"
#include "base/confine_ports.h"
#include "base/text.h"

namespace base {
namespace {

// Capabilities, dumpable and the like belong to a thread: any other thread would keep its own.
Status require_one_thread() {
  constexpr const char* kTasks = "/proc/self/task";
  struct stat status {};
  if (::stat(kTasks, &status) != 0) {
    return Error::from_errno(errno, str("inspect ", quote(kTasks)));
  }
  constexpr nlink_t kOneThread = 3;  // ".", its name, and the directory of the thread
  if (status.st_nlink == kOneThread) return {};
  return Error(Code::kInternal, "the process already has more than one thread");
}

Status limit(__rlimit_resource resource, const char* name, uint64_t most) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return Error::from_errno(errno, str("read ", name));
  const rlim_t lower = now.rlim_max < most ? now.rlim_max : most;
  const rlimit wanted{lower, lower};
  if (::setrlimit(resource, &wanted) != 0) return Error::from_errno(errno, str("set ", name));
  return {};
}

Status set_limits(const Limits& limits) {
  TRY(limit(RLIMIT_CORE, "RLIMIT_CORE", 0));
  TRY(limit(RLIMIT_FSIZE, "RLIMIT_FSIZE", 0));
  TRY(limit(RLIMIT_DATA, "RLIMIT_DATA", limits.data));
  return limit(RLIMIT_NOFILE, "RLIMIT_NOFILE", limits.descriptors);
}

// The limit counts the tasks of the user in the user namespace, and this one has only this process:
// whoever becomes the user elsewhere, such as a container, cannot use the limit up. Where no
// namespace can be made, there is no limit, because there it could.
Status limit_tasks(uint64_t most) {
  if (::unshare(CLONE_NEWUSER) != 0) return {};
  return limit(RLIMIT_NPROC, "RLIMIT_NPROC", most);
}

Status drop_privileges(Service service) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Error::from_errno(errno, "set no_new_privs");
  }
  if (!clear_bounding_set() && errno != EPERM) {
    return Error::from_errno(errno, "empty the bounding set of capabilities");
  }
  if (!clear_capabilities()) return Error::from_errno(errno, "give up all capabilities");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return Error::from_errno(errno, "become undumpable");
  }
  if (service == Service::kAccepts) return {};
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
    return Error::from_errno(errno, "ask for SIGKILL at the end of the parent");
  }
  return {};
}

Status confine_all(const Limits& limits, const Network& network) {
  TRY(require_one_thread());
  (void)::umask(077);
  TRY(set_limits(limits));
  TRY(limit_tasks(limits.tasks));
  TRY(drop_privileges(network.service));
  if (network.own_sockets && network.port != 0) TRY(limit_ports(network.port));
  if (network.service == Service::kAccepts) return load_filter(Sockets::kAccepted);
  return load_filter(network.own_sockets ? Sockets::kOwn : Sockets::kGiven);
}

}  // namespace

Status confine(const Limits& limits, const Network& network) {
  TRY_CTX("confine this process", confine_all(limits, network));
  return {};
}

}  // namespace base

#ifdef __SANITIZE_ADDRESS__
// The leak search at exit traces the process from a child, which confine forbids.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif
