// SPDX-License-Identifier: Apache-2.0
#include "hook/plain/caller.h"

#include <cstdlib>
#include <string>

#include "hook/passing/passing.h"

namespace hook::plain {
namespace {

std::string caller_file;

std::string identity_of(const struct stat& file) {
  passing::Text text;
  passing::add_identity(text, file);
  return std::string(text.view());
}

std::string own_identity() {
  struct stat self {};
  return ::stat("/proc/self/exe", &self) == 0 ? identity_of(self) : "";
}

}  // namespace

void take_caller() {
  const char* const value = ::getenv(passing::kCallerVariable);
  if (value != nullptr) caller_file = value;
  (void)::unsetenv(passing::kCallerVariable);
}

bool is_caller(const struct stat& file) {
  const std::string identity = identity_of(file);
  return identity == caller_file || identity == own_identity();
}

}  // namespace hook::plain
