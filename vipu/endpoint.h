// SPDX-License-Identifier: Apache-2.0
// The address of a V-IPU controller, and what its access requires.
#pragma once

#include <optional>
#include <string>

namespace vipu {

// Paths of PEM files. An authority in CA must have signed the controller's certificate, for the
// host of the connection or for SERVER_NAME if that is not empty. CERTIFICATE and KEY are the
// client's; both are empty if the controller requires none.
struct TlsFiles {
  std::string ca;
  std::string certificate = {};
  std::string key = {};
  std::string server_name = {};
};

struct Endpoint {
  std::string address;  // HOST:PORT; Graphcore's default port is 8090
  std::optional<TlsFiles> tls = {};
  // File of "name: value" lines, sent with each call as gRPC metadata; empty: none. Graphcore never
  // published the names that its controller reads.
  std::string credentials_file = {};
  // Whether credentials may be sent without TLS to another host, readable by everyone on the way.
  bool allow_insecure_credentials = false;
};

}  // namespace vipu
