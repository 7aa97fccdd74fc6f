// SPDX-License-Identifier: Apache-2.0
#include "base/signal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"

namespace base {

Status signal_process(const ProcessId& process, int signal) {
  const std::string what = str("signal process ", process.pid);
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0U)));
  if (!handle.valid() && errno == ESRCH) return Error(Code::kNotFound, str(what, ": it has ended"));
  if (!handle.valid()) return Error::from_errno(errno, what);
  // Whoever has the pid now is the one that the handle is of.
  const ProcessId now = TRY_CTX(what, identify_process(process.pid));
  if (now.pid_namespace != process.pid_namespace)
    return Error(Code::kUnsupported, str(what, ": it is of another pid namespace"));
  if (now.start_time != process.start_time)
    return Error(Code::kNotFound, str(what, ": it has ended"));
  if (::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0U) == 0) return {};
  return Error::from_errno(errno, what);
}

}  // namespace base
