// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/engine_places.h"

#include "base/names.h"
#include "hook/lifecycle/start/image_json.h"

namespace hook::lifecycle::start {

using namespace base::names;
using base::Json;
namespace fs = std::filesystem;

fs::path docker_file_of(const fs::path& data_root, const std::string& container) {
  return data_root / "containers" / container / "config.v2.json";
}

std::optional<fs::path> data_root_of(const std::string& container, const fs::path& root) {
  std::error_code err;
  for (fs::path at = root.parent_path(); at != at.root_path(); at = at.parent_path()) {
    if (fs::exists(docker_file_of(at, container), err)) return at;
  }
  return std::nullopt;
}

std::optional<Storage> storage_of(const std::string& container, const fs::path& root) {
  std::error_code err;
  for (fs::path at = root.parent_path(); at != at.root_path(); at = at.parent_path()) {
    const Storage storage{at.parent_path(), at.filename()};
    if (fs::exists(storage.graph / (storage.driver + "-containers") / container, err))
      return storage;
  }
  return std::nullopt;
}

Result<std::optional<Json>> entry_in(const Storage& storage, const std::string& container) {
  const fs::path folder = storage.graph / (storage.driver + "-containers");
  for (const char* list : {"containers.json", "volatile-containers.json"}) {
    const std::optional<Json> known = TRY(read_json(folder / list));
    if (!known) continue;
    for (const Json& entry : *known) {
      const Result<std::string> id = base::get_string(entry, "id", "container");
      if (id.ok() && id.value() == container) return std::optional<Json>(entry);
    }
  }
  return std::optional<Json>();
}

}  // namespace hook::lifecycle::start
