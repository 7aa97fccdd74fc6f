// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/runtime_entry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/names.h"
#include "base/text.h"

namespace hook::engines {
namespace {

using namespace base::names;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool may_be_in_name(char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == '-'; }

}  // namespace

Status check_runtime_name(const std::string& name) {
  const bool is_word = !name.empty() && is_alphanumeric(name.front()) &&
                       std::all_of(name.begin(), name.end(), may_be_in_name);
  if (!is_word) {
    return Error(
        Code::kInvalid,
        str("--name ", base::quote(name),
            ": must consist of letters, digits, '_', '.' and '-', and begin with a letter or"
            " digit"));
  }
  if (name != "runc" && !name.starts_with("io.containerd.")) return {};
  return Error(Code::kInvalid, str("--name ", base::quote(name),
                                   ": is the name of a runtime of the engines; choose another,"
                                   " such as 'ipu'"));
}

Status check_runtime_program(const std::string& path) {
  struct stat status {};
  const std::string what = str("use ", base::quote(path), " as a runtime");
  if (::stat(path.c_str(), &status) != 0) {
    return Error(errno == ENOENT ? Code::kNotFound : Code::kDenied,
                 str(what, errno == ENOENT ? ": it does not exist" : ": it cannot be read",
                     "; install the whole toolkit, not only ipuctl"));
  }
  if (S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0) return {};
  return Error(Code::kDenied,
               str(what, ": it is not an executable file; install the toolkit again"));
}

}  // namespace hook::engines
