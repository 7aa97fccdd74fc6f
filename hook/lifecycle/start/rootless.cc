// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/rootless.h"

#include "base/names.h"
#include "base/text.h"
#include "base/users.h"

namespace hook::lifecycle::start {

using namespace base::names;

Status check_host_root() {
  const uid_t user = base::user_of_host();
  if (user == 0 && base::has_users_of_host()) return {};
  if (user == 0) {
    return Error(Code::kUnsupported,
                 "rootless engines cannot start containers with IPUs, and the root of this one's"
                 " user namespace is perhaps not the host's; start the container with an engine"
                 " outside of user namespaces");
  }
  return Error(Code::kUnsupported,
               str("rootless engines cannot start containers with IPUs, and this one runs as user ",
                   user, "; start the container with root's engine, for example by sudo"));
}

}  // namespace hook::lifecycle::start
