// SPDX-License-Identifier: Apache-2.0
// Access: the contents of the files that an Endpoint names. It holds secrets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vipu/endpoint.h"

namespace vipu {

// TlsFiles with the texts of the files instead of their paths.
struct Tls {
  std::string ca;
  std::string certificate = {};
  std::string key = {};
  std::string server_name = {};
  bool operator==(const Tls&) const = default;
};

struct Access {
  std::string address;  // HOST:PORT
  std::optional<Tls> tls = {};
  std::map<std::string, std::string> credentials = {};  // gRPC metadata
  bool operator==(const Access&) const = default;
};

// Limits for one file, in bytes.
inline constexpr size_t kMaxPem = size_t{256} << 10;
inline constexpr size_t kMaxCredentials = size_t{16} << 10;

// Reads the files of ENDPOINT. A file with secrets must be a regular file of root or of the caller
// that no other user can read. A file that decides whom to trust must be one that no other user can
// write. Returns kDenied otherwise, with the command that corrects it. Returns kInvalid if a file
// is absent or malformed, or if credentials would cross the network without TLS. No error contains
// any part of a file's content.
base::Result<Access> read_access(const Endpoint& endpoint);

// Returns the text of PATH, at most MAX_BYTES: a file with secrets, as read_access() has them.
base::Result<std::string> read_secret(const std::string& path, size_t max_bytes);

// Returns whether NAME and VALUE can be sent as metadata: NAME of [0-9a-z_.-], without the prefix
// "grpc-" or the suffix "-bin"; VALUE of printable ASCII without a space at either end.
[[nodiscard]] bool is_metadata(std::string_view name, std::string_view value);
// Returns whether TEXT can be that of a PEM file: lines of ASCII.
[[nodiscard]] bool is_pem(std::string_view text);

// Returns whether ACCESS holds credentials or a key.
[[nodiscard]] bool has_secrets(const Access& access);

// Returns TEXT with "***" for each secret of ACCESS: its credentials and the lines of its key.
[[nodiscard]] std::string without_secrets(std::string text, const Access& access);

}  // namespace vipu
