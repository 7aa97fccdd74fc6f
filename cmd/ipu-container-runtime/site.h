// SPDX-License-Identifier: Apache-2.0
// Where this installation is, and its version, as texts that need no relocation.
#pragma once

namespace wrapper {

extern const char kRunDir[];
extern const char kConfigFile[];
extern const char kStartProgram[];
extern const char kVersion[];

}  // namespace wrapper
