// SPDX-License-Identifier: Apache-2.0
// The memory that a program writes, if it lives for milliseconds. The kernel maps it by two calls.
// Otherwise each page would interrupt the program at its first use: a microsecond, and 14 to 22 in
// a guest whose hypervisor shadows its page tables. A kernel before 5.14 maps nothing ahead.
//
// The Makefile makes `map_program` the entry of every static program on x86_64 that uses the C
// library. It maps the program's data, most of which its relocation writes, and jumps to _start. It
// does not map the code: a program executes a third of it, and the kernel maps 16 pages at a fault.
#pragma once

#include <cstddef>

namespace base {

// Has the kernel map HEAP bytes for malloc(3). Call it first in main().
void map_memory(size_t heap);

}  // namespace base
