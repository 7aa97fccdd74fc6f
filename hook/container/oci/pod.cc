// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/pod.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace hook::oci {
namespace {

struct Keys {
  const char* type;
  const char* sandbox;
  std::array<const char*, 2> space;  // the first that is there counts
};
constexpr Keys kEngines[] = {
    {"io.kubernetes.cri.container-type",
     "io.kubernetes.cri.sandbox-id",
     {"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-namespace"}},
    {"io.kubernetes.cri-o.ContainerType",
     "io.kubernetes.cri-o.SandboxID",
     {"io.kubernetes.cri-o.Namespace", "io.kubernetes.pod.namespace"}},
};

}  // namespace

std::string sandbox_of(const std::map<std::string, std::string>& annotations) {
  for (const Keys& keys : kEngines) {
    const auto type = annotations.find(keys.type);
    const auto sandbox = annotations.find(keys.sandbox);
    if (type == annotations.end() || type->second != "container") continue;
    if (sandbox != annotations.end()) return sandbox->second;
  }
  return "";
}

std::string namespace_of(const std::map<std::string, std::string>& annotations) {
  for (const Keys& keys : kEngines) {
    if (!annotations.contains(keys.type)) continue;
    for (const char* key : keys.space) {
      const auto space = annotations.find(key);
      if (space != annotations.end()) return space->second;
    }
  }
  return "";
}

bool is_of_pod(const std::map<std::string, std::string>& annotations) {
  return std::any_of(std::begin(kEngines), std::end(kEngines),
                     [&](const Keys& keys) { return annotations.contains(keys.type); });
}

}  // namespace hook::oci
