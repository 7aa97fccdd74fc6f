// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/pod.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace hook::oci {
namespace {

using base::quote;
using base::str;

struct Keys {
  const char* type;
  const char* sandbox;
  const char* space;
};
constexpr Keys kEngines[] = {
    {"io.kubernetes.cri.container-type", "io.kubernetes.cri.sandbox-id",
     "io.kubernetes.cri.sandbox-namespace"},
    {"io.kubernetes.cri-o.ContainerType", "io.kubernetes.cri-o.SandboxID",
     "io.kubernetes.pod.namespace"},
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

base::Result<std::string> namespace_of(const std::map<std::string, std::string>& annotations) {
  std::string space;
  size_t engines = 0;
  for (const Keys& keys : kEngines) {
    if (!annotations.contains(keys.type)) continue;
    ++engines;
    const auto found = annotations.find(keys.space);
    if (found != annotations.end()) space = found->second;
  }
  if (engines < 2) return space;
  return base::Error(base::Code::kDenied,
                     str("the container has annotations of two engines, ", quote(kEngines[0].type),
                         " and ", quote(kEngines[1].type),
                         ", so its namespace is not known; remove the one that is in the pod's"
                         " metadata.annotations"));
}

bool is_of_pod(const std::map<std::string, std::string>& annotations) {
  return std::any_of(std::begin(kEngines), std::end(kEngines),
                     [&](const Keys& keys) { return annotations.contains(keys.type); });
}

}  // namespace hook::oci
