// SPDX-License-Identifier: Apache-2.0
// Access: what is in the files that an Endpoint names. It holds secrets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vipu/endpoint.h"

namespace vipu {

// TlsFiles, with the texts in the place of the paths.
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

// Bytes of one file.
inline constexpr size_t kMaxPem = size_t{256} << 10;
inline constexpr size_t kMaxCredentials = size_t{16} << 10;

// Reads the files of ENDPOINT. Those with secrets must be regular files of root or of the caller
// that nobody else can read; those that say whom to trust, that nobody else can write: kDenied
// otherwise, with the command that mends it. kInvalid: a file is absent or malformed, or
// credentials would go over the network without TLS. No error has a part of a file's content.
base::Result<Access> read_access(const Endpoint& endpoint);

// Whether NAME and VALUE can be sent as metadata: [0-9a-z_.-], not from "grpc-" on and not up to
// "-bin"; printable ASCII without space at either end.
[[nodiscard]] bool is_metadata(std::string_view name, std::string_view value);
// Whether TEXT can be of a PEM file: ASCII of lines.
[[nodiscard]] bool is_pem(std::string_view text);

// TEXT with "***" in the place of each secret of ACCESS: its credentials and the lines of its key.
[[nodiscard]] std::string without_secrets(std::string text, const Access& access);

}  // namespace vipu
