// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/content_store.h"

#include "base/fs.h"
#include "base/names.h"
#include "hook/lifecycle/start/image_json.h"

namespace hook::lifecycle::start {

using namespace base::names;
using base::Json;

ContentStore::ContentStore(const std::filesystem::path& root)
    : folder_(root / "io.containerd.content.v1.content/blobs/sha256"), left_(kMaxEngineFile) {}

// An index may name any number of files, so their sizes count together.
Result<std::optional<std::string>> ContentStore::read(const std::string& digest) {
  const std::string name = TRY(hex_of(digest));
  std::optional<std::string> text = TRY(base::read_file_if_exists(folder_ / name, left_));
  if (text) left_ -= text->size();
  return text;
}

// Returns the texts of the manifests that the file DIGEST is or names.
Result<std::vector<std::string>> ContentStore::manifests(const std::string& digest) {
  std::vector<std::string> texts;
  std::optional<std::string> text = TRY(read(digest));
  if (!text) return texts;
  const Json blob = TRY(base::parse_json(*text, digest));
  const Json list = TRY(member(blob, "manifests"));
  const Json config = TRY(member(blob, "config"));
  if (list.is_null()) {
    texts.push_back(std::move(*text));
    return texts;
  }
  if (!list.is_array() || !config.is_null())
    return Error(Code::kInvalid, "an index of an image is odd");
  for (const Json& entry : list) {
    const std::string named = TRY(text_in(entry, "digest"));
    std::optional<std::string> manifest = TRY(read(named));
    if (manifest) texts.push_back(std::move(*manifest));
  }
  return texts;
}

Status ContentStore::add(const std::string& manifest, std::vector<Variables>& images) {
  const Json blob = TRY(base::parse_json(manifest, "manifest"));
  const Json config = TRY(member(blob, "config"));
  const std::string digest = TRY(text_in(config, "digest"));
  std::optional<Variables> variables = TRY(configuration(digest));
  if (variables) images.push_back(std::move(*variables));
  return {};
}

Result<std::vector<ContentStore::Variables>> ContentStore::images(const std::string& digest) {
  std::vector<Variables> images;
  const std::vector<std::string> texts = TRY(manifests(digest));
  for (const std::string& manifest : texts) TRY(add(manifest, images));
  return images;
}

Result<std::optional<ContentStore::Variables>> ContentStore::configuration(
    const std::string& digest) {
  const std::optional<std::string> text = TRY(read(digest));
  if (!text) return std::optional<Variables>();
  const Json config = TRY(base::parse_json(*text, digest));
  Variables variables = TRY(variables_in(config, "config"));
  return std::optional<Variables>(std::move(variables));
}

}  // namespace hook::lifecycle::start
