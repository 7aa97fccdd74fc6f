// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/pod.h"

#include <algorithm>
#include <iterator>

namespace hook::oci {
namespace {

struct Keys {
  const char* type;
  const char* sandbox;
};
constexpr Keys kEngines[] = {
    {"io.kubernetes.cri.container-type", "io.kubernetes.cri.sandbox-id"},
    {"io.kubernetes.cri-o.ContainerType", "io.kubernetes.cri-o.SandboxID"},
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

bool is_of_pod(const std::map<std::string, std::string>& annotations) {
  return std::any_of(std::begin(kEngines), std::end(kEngines),
                     [&](const Keys& keys) { return annotations.contains(keys.type); });
}

}  // namespace hook::oci
