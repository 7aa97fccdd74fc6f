// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/container_name.h"

#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "hook/container/oci/spec.h"
#include "hook/lifecycle/start/engine_places.h"
#include "hook/lifecycle/start/image_json.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using base::Json;
namespace fs = std::filesystem;

constexpr size_t kLongestName = 128;

Result<std::string> name_in_docker(const fs::path& data_root, const std::string& container) {
  const std::optional<Json> known = TRY(read_json(docker_file_of(data_root, container)));
  if (!known) return std::string();
  std::string name = TRY(text_in(*known, "Name"));
  if (name.starts_with("/")) name.erase(0, 1);
  return name;
}

Result<std::string> name_in_storage(const Storage& storage, const std::string& container) {
  const std::optional<Json> entry = TRY(entry_in(storage, container));
  if (!entry) return std::string();
  const Json names = TRY(member(*entry, "names"));
  if (!names.is_array() || names.empty() || !names.front().is_string()) return std::string();
  return names.front().get<std::string>();
}

std::string name_in_pod(const std::map<std::string, std::string>& annotations) {
  std::string name;
  for (const char* key : {"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name",
                          "io.kubernetes.cri.container-name"}) {
    const auto found = annotations.find(key);
    if (found == annotations.end()) continue;
    name += str(name.empty() ? "" : "/", found->second);
  }
  return name;
}

Result<std::string> find_name(const std::string& container, const std::string& bundle) {
  const std::string text = TRY(base::read_file(bundle + "/config.json", kMaxEngineFile));
  const oci::SpecView view = TRY(oci::parse_spec(text));
  const fs::path root(view.root);
  if (root.is_absolute() && is_plain(container)) {
    if (const std::optional<fs::path> data_root = data_root_of(container, root))
      return name_in_docker(*data_root, container);
    if (const std::optional<Storage> storage = storage_of(container, root))
      return name_in_storage(*storage, container);
  }
  return name_in_pod(view.annotations);
}

}  // namespace

std::string container_name(const std::string& container, const std::string& bundle) {
  if (bundle.empty()) return "";
  const Result<std::string> name = find_name(container, bundle);
  return name.ok() ? base::one_line(name.value(), kLongestName) : "";
}

}  // namespace hook::lifecycle::start
