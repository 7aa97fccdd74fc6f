// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/client_user.h"

#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "base/users.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

// Debian's `nobody` and `nogroup`, as which other programs run, too.
constexpr base::Credentials kNobody{65534, 65534};

// Returns the user NAME of PASSWD_FILE. CONSEQUENCE begins the reason why it is nobody.
ClientUser own_user(const char* name, const std::string& passwd_file, const char* consequence) {
  const auto nobody = [&](const std::string& why) -> ClientUser {
    return {kNobody, Error(Code::kDenied, str(consequence, why))};
  };
  const Result<std::optional<base::Credentials>> own = base::find_user(name, passwd_file);
  if (!own.ok()) return nobody(own.error().message());
  const std::string file = base::quote(passwd_file);
  if (!own.value()) {
    return nobody(str(file, " has no user ", base::quote(name),
                      "; run 'useradd --system --shell /usr/sbin/nologin ", name, "'"));
  }
  if (own.value()->uid != kNobody.uid) return {*own.value(), {}};
  return nobody(str(file, ": user ", base::quote(name), " has the uid of nobody; give it another"));
}

}  // namespace

ClientUser client_user(const std::string& passwd_file) {
  return own_user("ipu-vipu-client", passwd_file,
                  "credentials and keys are only for a client with a user of its own: ");
}

ClientUser endpoint_user(const std::string& passwd_file) {
  return own_user("ipu-vipu-endpoint", passwd_file,
                  "V-IPU endpoints run as nobody, as other programs do: ");
}

bool has_secrets(const config::ControllerSecurity& security) {
  return !security.credentials.empty() || (security.tls && !security.key.empty());
}

}  // namespace hook::lifecycle
