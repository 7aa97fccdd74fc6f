// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-container-runtime/site.h"

namespace wrapper {

const char kRunDir[] = IPU_RUNDIR;
const char kConfigFile[] = IPU_SYSCONFDIR "/config.toml";
const char kStartProgram[] = IPU_LIBEXECDIR "/ipu-container-start";
const char kVersion[] = IPU_VERSION;

}  // namespace wrapper
