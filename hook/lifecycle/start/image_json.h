// SPDX-License-Identifier: Apache-2.0
// The JSON files that engines keep of containers and images. What is in an image may be an
// attacker's. Only for .cc files of this room.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace hook::lifecycle::start {

inline constexpr size_t kMaxEngineFile = 16 << 20;

// Returns whether NAME may stand in a path: it has lower-case letters, digits and '-' alone.
[[nodiscard]] bool is_plain(std::string_view name);

// Returns the part of the DIGEST "sha256:..." that names a file.
base::Result<std::string> hex_of(std::string_view digest);

// Returns the member KEY, or null. Go's decoder also takes other spellings of a key, and of several
// the last; so an object with another spelling is kInvalid.
base::Result<base::Json> member(const base::Json& object, const char* key);
base::Result<std::string> text_in(const base::Json& object, const char* key);

// Returns CONFIG.Env of a container or an image.
base::Result<std::vector<std::string>> variables_in(const base::Json& file, const char* config);

// Reads a file of at most MAX_BYTES; nothing if it is absent.
base::Result<std::optional<base::Json>> read_json(const std::filesystem::path& file,
                                                  size_t max_bytes = kMaxEngineFile);

}  // namespace hook::lifecycle::start
