// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace base {
namespace {

Code code_of(int err) {
  switch (err) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ESRCH:
      return Code::kNotFound;
    case EEXIST:
      return Code::kExists;
    case EPERM:
    case EACCES:
    case EROFS:
      return Code::kDenied;
    case EBUSY:
    case EADDRINUSE:
    case EAGAIN:
    case ENOSPC:
    case ENOMEM:
      return Code::kBusy;
    case ETIMEDOUT:
      return Code::kTimeout;
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return Code::kUnavailable;
    case EINVAL:
    case ENAMETOOLONG:
      return Code::kInvalid;
    case ENOSYS:
    case EOPNOTSUPP:
      return Code::kUnsupported;
    default:
      return Code::kInternal;
  }
}

// Returns the kernel's texts, except those that engines search for in a runtime's error to choose
// an exit code ("no such file or directory" makes docker return 127, "permission denied" 126).
std::string text_of(int err) {
  switch (err) {
    case ENOENT:
      return "not found";
    case ESRCH:
      return "process not found";
    case EACCES:
      return "access denied";
    case EPERM:
      return "not permitted";
    default:
      return std::strerror(err);
  }
}

}  // namespace

Error Error::from_errno(int err, std::string_view what) {
  Error error(code_of(err), std::string(what) + ": " + text_of(err));
  error.errno_ = err;
  return error;
}

Error&& Error::wrap(std::string_view context) && {
  message_.insert(0, std::string(context) + ": ");
  return std::move(*this);
}

}  // namespace base
