// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-container-poststop/site.h"

namespace poststop {

const char kHookProgram[] = IPU_BINDIR "/ipu-container-hook";

}  // namespace poststop
