// SPDX-License-Identifier: Apache-2.0
// ipu-vipu-client speaks to controllers, with TLS and without. OpenSSL is a shared library, so that
// the host's updates of it count at once.
#include "cmd/common/rpc/tls/tls_filter.h"
#include "cmd/ipu-vipu-client/session/run.h"

int main(int argc, char** argv) { return client::run(argc, argv, tls::make_filter); }
