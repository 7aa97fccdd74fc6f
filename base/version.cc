// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

namespace base {

std::string product_version() { return IPU_VERSION; }

}  // namespace base
