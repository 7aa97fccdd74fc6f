// SPDX-License-Identifier: Apache-2.0
// Where a V-IPU controller is, and what it takes to be let in.
#pragma once

#include <optional>
#include <string>

namespace vipu {

// PEM files. The controller's certificate must be signed by one in CA, for the host that is
// connected to, or for SERVER_NAME if that is not empty. CERTIFICATE and KEY are ours; both are
// empty where the controller asks for none.
struct TlsFiles {
  std::string ca;
  std::string certificate = {};
  std::string key = {};
  std::string server_name = {};
};

struct Endpoint {
  std::string address;  // HOST:PORT; Graphcore's default port is 8090
  std::optional<TlsFiles> tls = {};
  // Lines "name: value" that are sent with each call as gRPC metadata; empty: none. Graphcore never
  // published the names that its controller looks at.
  std::string credentials_file = {};
  // Whether credentials may be sent without TLS to another host, where all on the way can read
  // them.
  bool allow_insecure_credentials = false;
};

}  // namespace vipu
