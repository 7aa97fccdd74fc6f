// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/client_user.h"

#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "base/users.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

constexpr const char* kName = "ipu-vipu-client";
// Debian's `nobody` and `nogroup`, as which other programs run, too.
constexpr base::Credentials kNobody{65534, 65534};

Error not_its_own(const std::string& why) {
  return {Code::kDenied,
          str("credentials and keys are only for a client with a user of its own: ", why)};
}

}  // namespace

ClientUser client_user(const std::string& passwd_file) {
  const Result<std::optional<base::Credentials>> own = base::find_user(kName, passwd_file);
  if (!own.ok()) return {kNobody, not_its_own(own.error().message())};
  if (own.value() && own.value()->uid != kNobody.uid) return {*own.value(), {}};
  if (own.value()) {
    return {kNobody, not_its_own(str(base::quote(passwd_file), ": user ", base::quote(kName),
                                     " has the uid of nobody; give it another"))};
  }
  return {kNobody,
          not_its_own(str(base::quote(passwd_file), " has no user ", base::quote(kName),
                          "; run 'useradd --system --shell /usr/sbin/nologin ", kName, "'"))};
}

base::Credentials endpoint_user(const std::string& passwd_file) {
  const Result<std::optional<base::Credentials>> own =
      base::find_user("ipu-vipu-endpoint", passwd_file);
  return own.ok() ? own.value().value_or(kNobody) : kNobody;
}

bool has_secrets(const config::ControllerSecurity& security) {
  return !security.credentials.empty() || (security.tls && !security.key.empty());
}

}  // namespace hook::lifecycle
