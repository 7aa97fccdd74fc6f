// SPDX-License-Identifier: Apache-2.0
// The memory of a program that lives for milliseconds.
#pragma once

#include <cstddef>

namespace base {

// Has the kernel map the program's code and constants, and HEAP bytes for malloc(3), by two calls.
// Otherwise each page would interrupt the program at its first use, which costs more than the page:
// with 200 pages, half of a short program's time. Call it first in main(). Does nothing on a kernel
// before 5.14.
void map_memory(size_t heap);

}  // namespace base
