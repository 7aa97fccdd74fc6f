// SPDX-License-Identifier: Apache-2.0
// A config.json that docker wrote.
#pragma once

#include <string>

#include "base/fs.h"
#include "hook/container/oci/spec.h"

namespace hook::oci {

inline std::string docker_config() {
  return base::read_file(TEST_DATA_DIR "/docker-config.json", kMaxSpecBytes).take();
}

}  // namespace hook::oci
