// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/state.h"

#include <limits>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::oci {

using namespace base::names;
using base::Json;

Result<ContainerState> parse_state(std::string_view text) {
  constexpr std::string_view kWhat = "container state on standard input";
  if (text.size() > kMaxStateBytes) {
    return Error(Code::kInvalid, str(kWhat, ": longer than ", kMaxStateBytes, " bytes"));
  }
  const Json json = TRY(base::parse_json(text, kWhat));
  ContainerState state;
  state.id = TRY(base::get_string(json, "id", kWhat));
  state.bundle = TRY(base::get_string(json, "bundle", kWhat));
  if (json.contains("annotations") && json["annotations"].is_object()) {
    for (const auto& [name, value] : json["annotations"].items()) {
      if (value.is_string()) state.annotations[name] = value.get<std::string>();
    }
  }
  if (json.contains("pid")) {
    const int64_t pid = TRY(base::get_int(json, "pid", kWhat));
    if (pid < 0 || pid > std::numeric_limits<pid_t>::max()) {
      return Error(Code::kInvalid, str(kWhat, ": key 'pid' is ", pid, ", not the id of a process"));
    }
    state.pid = static_cast<pid_t>(pid);
  }
  return state;
}

}  // namespace hook::oci
