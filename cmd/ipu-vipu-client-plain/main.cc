// SPDX-License-Identifier: Apache-2.0
// ipu-vipu-client-plain is ipu-vipu-client without TLS. It is static, because each start of a
// container waits for it.
#include "cmd/ipu-vipu-client/session/run.h"

int main(int argc, char** argv) { return client::run(argc, argv, nullptr); }
