// SPDX-License-Identifier: Apache-2.0
// Where this installation is, as a text that needs no relocation.
#pragma once

namespace poststop {

extern const char kHookProgram[];

}  // namespace poststop
