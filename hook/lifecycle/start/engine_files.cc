// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/engine_files.h"

#include <filesystem>
#include <string_view>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/start/content_store.h"
#include "hook/lifecycle/start/engine_places.h"
#include "hook/lifecycle/start/image_json.h"
#include "hook/lifecycle/start/image_variables.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using base::Json;
using request::FromImage;
namespace fs = std::filesystem;

using Names = std::set<std::string>;
using Variables = std::vector<std::string>;

constexpr std::string_view kHash = "sha256:";

// Returns the digest of docker's image in containerd's content store: that of the platform, which
// newer dockers note, or that of all platforms.
Result<std::string> content_of(const Json& known) {
  const Json manifest = TRY(member(known, "ImageManifest"));
  if (manifest.is_object()) return text_in(manifest, "digest");
  return text_in(known, "Image");
}

Result<std::vector<Variables>> docker_images(const fs::path& data_root, const Json& known,
                                             const std::vector<std::string>& roots) {
  const std::string driver = TRY(text_in(known, "Driver"));
  const std::string name = TRY(text_in(known, "Image"));
  const std::string image = TRY(hex_of(name));
  if (!is_plain(driver)) return Error(Code::kInvalid, "the name of the driver is odd");
  std::vector<Variables> images;
  const fs::path own = data_root / "image" / driver / "imagedb/content/sha256" / image;
  if (const std::optional<Json> file = TRY(read_json(own))) {
    images.push_back(TRY(variables_in(*file, "config")));
    return images;
  }
  std::vector<fs::path> places = {data_root / "containerd/daemon"};
  places.insert(places.end(), roots.begin(), roots.end());
  const std::string digest = TRY(content_of(known));
  for (const fs::path& place : places) {
    images = TRY(ContentStore(place).images(digest));
    if (!images.empty()) break;
  }
  return images;
}

Result<std::optional<FromImage>> read_docker(const fs::path& data_root,
                                             const std::string& container,
                                             const std::vector<std::string>& roots) {
  const std::string file = docker_file_of(data_root, container);
  const std::string text = TRY(base::read_file(file, kMaxEngineFile));
  const Json known = TRY(base::parse_json(text, file));
  const Variables all = TRY(variables_in(known, "Config"));
  std::optional<FromImage> found;
  for (const Variables& image : TRY(docker_images(data_root, known, roots))) {
    const std::optional<Names> names = set_by_image(all, image);
    if (!names) continue;
    if (!found) found.emplace();
    found->names.insert(names->begin(), names->end());
  }
  return found;
}

// Returns the id of the container's image; empty if it has none, as with podman's --rootfs.
Result<std::string> image_in(const Storage& storage, const std::string& container) {
  const std::optional<Json> entry = TRY(entry_in(storage, container));
  if (!entry || !entry->contains("image")) return std::string();
  return base::get_string(*entry, "image", "container");
}

std::string base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string coded;
  for (size_t at = 0; at < text.size(); at += 3) {
    const std::string_view part = text.substr(at, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    for (size_t i = 0; i < 4; ++i)
      coded += i <= part.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return coded;
}

// containers/storage keeps the manifest of an image, and the configuration by its digest.
Result<std::optional<FromImage>> read_storage(const Storage& storage, const std::string& container,
                                              const Variables& environment) {
  const std::string image = TRY(image_in(storage, container));
  if (image.empty()) return std::optional<FromImage>();
  if (!is_plain(image)) return Error(Code::kInvalid, "the name of the image is odd");
  const fs::path folder = storage.graph / (storage.driver + "-images") / image;
  const std::optional<Json> manifest = TRY(read_json(folder / "manifest"));
  if (!manifest) return std::optional<FromImage>();
  const Json named = TRY(member(*manifest, "config"));
  const std::string digest = TRY(text_in(named, "digest"));
  const std::string file = folder / ("=" + base64(digest));
  const std::string text = TRY(base::read_file(file, kMaxEngineFile));
  const Json config = TRY(base::parse_json(text, file));
  const Variables variables = TRY(variables_in(config, "config"));
  return std::optional<FromImage>({maybe_set_by_image(environment, variables), false});
}

// Returns the variables of the image that containerd's CRI plugin calls NAME: REPOSITORY@DIGEST, or
// the digest of the configuration. Only a database has the digest of a name with a tag.
Result<std::vector<Variables>> images_of(const std::string& root, const std::string& name) {
  const size_t at = name.rfind(kHash);
  ContentStore store(root);
  if (at != std::string::npos && at > 0 && name[at - 1] == '@')
    return store.images(name.substr(at));
  std::vector<Variables> images;
  if (at != 0) return images;
  std::optional<Variables> image = TRY(store.configuration(name));
  if (image) images.push_back(std::move(*image));
  return images;
}

Result<std::optional<FromImage>> read_containerd(const oci::SpecView& view,
                                                 const std::vector<std::string>& roots) {
  std::optional<FromImage> found;
  const auto name = view.annotations.find("io.kubernetes.cri.image-name");
  if (name == view.annotations.end()) return found;
  for (const std::string& root : roots) {
    for (const Variables& image : TRY(images_of(root, name->second))) {
      if (!found) found = FromImage{{}, false};
      found->names.merge(maybe_set_by_image(view.environment, image));
    }
  }
  return found;
}

// The annotation of the CRI counts last: in some versions, podman takes annotations from an image.
Result<std::optional<FromImage>> read_engine(const std::string& container,
                                             const oci::SpecView& view,
                                             const std::vector<std::string>& roots) {
  const fs::path root(view.root);
  if (root.is_absolute() && is_plain(container)) {
    if (const std::optional<fs::path> data_root = data_root_of(container, root))
      return read_docker(*data_root, container, roots);
    if (const std::optional<Storage> storage = storage_of(container, root))
      return read_storage(*storage, container, view.environment);
  }
  return read_containerd(view, roots);
}

}  // namespace

std::vector<std::string> containerd_roots() {
  return {"/var/lib/containerd", "/var/lib/rancher/k3s/agent/containerd",
          "/var/lib/rancher/rke2/agent/containerd", "/var/snap/microk8s/common/var/lib/containerd"};
}

std::optional<FromImage> from_image(const std::string& container, const oci::SpecView& view,
                                    const std::vector<std::string>& roots) {
  Result<std::optional<FromImage>> found = read_engine(container, view, roots);
  if (found.ok()) return std::move(found).take();
  return FromImage{names_of(view.environment), true};
}

}  // namespace hook::lifecycle::start
