// SPDX-License-Identifier: Apache-2.0
// Who called ipu-container-start: a program that it must not take for a low-level runtime, because
// it would come back for ever. The caller may be a copy of ipu-container-runtime anywhere.
#pragma once

#include <sys/stat.h>

namespace hook::plain {

// Takes the caller's file out of the environment, which is as it was then. For is_caller().
// ipu-container-runtime put it there, see passing::kCallerVariable.
void take_caller();

// Returns whether FILE is the caller that take_caller() found, or this program itself.
[[nodiscard]] bool is_caller(const struct stat& file);

}  // namespace hook::plain
