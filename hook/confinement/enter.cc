// SPDX-License-Identifier: Apache-2.0
#include "hook/confinement/enter.h"

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>

#include "base/capabilities.h"
#include "base/forbidden_calls.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/confinement/internal/filters.h"

namespace hook::confinement {
namespace {

using namespace base::names;

// Before Linux 5.8, CAP_SYS_ADMIN does what CAP_BPF does since.
uint64_t capabilities_here(Phase phase) {
  const uint64_t kept = capabilities_of(phase);
  const bool has_bpf = ::prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) >= 0;
  if (has_bpf || (kept & (uint64_t{1} << CAP_BPF)) == 0) return kept;
  return kept | (uint64_t{1} << CAP_SYS_ADMIN);
}

Status load_filter(Phase phase) {
  const std::span<const sock_filter> filter = internal::kFilters[static_cast<size_t>(phase)];
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  // Not seccomp(2): a filter around this process, such as that of a unit, allows prctl rather.
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return {};
  const int err = errno;
  // A kernel with filters looks for one where it is said to be.
  const bool has_filters =
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0) != 0 && errno == EFAULT;
  if (!has_filters) return {};
  return Error::from_errno(err, "load the seccomp filter");
}

Status enter_all(Phase phase, const char* program, const std::string& records) {
  TRY(base::record_forbidden_calls({program, name_of(phase), records, internal::kCallNames}));
  // It may open no file.
  if (phase == Phase::kDoor) base::record_on_stderr_only();
  if (!base::keep_capabilities(capabilities_here(phase)))
    return Error::from_errno(errno, "give up capabilities");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Error::from_errno(errno, "set no_new_privs");
  return load_filter(phase);
}

}  // namespace

Status enter(Phase phase, const char* program, const std::string& records) {
  TRY_CTX("confine this process", enter_all(phase, program, records));
  return {};
}

}  // namespace hook::confinement

#ifdef __SANITIZE_ADDRESS__
// The leak search at exit traces the process from a child, which no phase allows.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif
