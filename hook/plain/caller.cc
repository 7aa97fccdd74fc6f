// SPDX-License-Identifier: Apache-2.0
#include "hook/plain/caller.h"

#include <cstdlib>
#include <string>

#include "base/text.h"

namespace hook::plain {
namespace {

constexpr const char* kVariable = "IPU_CONTAINER_RUNTIME_FILE";
std::string caller_file;

std::string identity_of(const struct stat& file) {
  return base::str(file.st_dev, ':', file.st_ino);
}

std::string own_identity() {
  struct stat self {};
  return ::stat("/proc/self/exe", &self) == 0 ? identity_of(self) : "";
}

}  // namespace

void name_caller() { (void)::setenv(kVariable, own_identity().c_str(), 1); }

void take_caller() {
  const char* const value = ::getenv(kVariable);
  if (value != nullptr) caller_file = value;
  (void)::unsetenv(kVariable);
}

bool is_caller(const struct stat& file) {
  const std::string identity = identity_of(file);
  return identity == caller_file || identity == own_identity();
}

}  // namespace hook::plain
