// SPDX-License-Identifier: Apache-2.0
// The memory of a program that lives for milliseconds. The kernel maps it by a few calls. Otherwise
// each page would interrupt the program at its first use, which costs more than the page: with 200
// pages, half of a short program's time. A kernel before 5.14 maps nothing ahead.
//
// The Makefile makes `map_program` the entry of every static program on x86_64. It maps the
// program's code, constants and data before the program relocates itself, which touches most of the
// data, and then jumps to _start. It maps nothing if what follows the program's name on the command
// line begins with one of `base_unmapped_calls`: a program that has calls which touch few pages
// defines them. A word ends with a zero byte, and the next one follows. A program that touches few
// pages of its code, whatever its call is, sets `base_maps_code` to false.
#pragma once

#include <cstddef>

extern "C" {
[[gnu::visibility("hidden")]] extern const char base_unmapped_calls[2][8];
[[gnu::visibility("hidden")]] extern const bool base_maps_code;
}

namespace base {

// Has the kernel map HEAP bytes for malloc(3), and the program's code and constants if its entry
// did not. The heap is one large page (2 MiB) if the kernel has one; else at most HEAP bytes are
// mapped ahead, of 2 MiB. Call it first in main().
void map_memory(size_t heap);

}  // namespace base
