// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#ifndef MADV_POPULATE_READ  // since Linux 5.14; glibc 2.36 has it
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

// By the linker: where the program begins, and where its data that can be written do.
extern "C" const char __executable_start;
extern "C" const char __init_array_start;

namespace base {
namespace {

// Of the whole pages between these two.
void populate(const void* first, const void* last, int how) {
  const auto page = static_cast<uintptr_t>(::getpagesize());
  const uintptr_t from = reinterpret_cast<uintptr_t>(first) / page * page;
  const uintptr_t to = reinterpret_cast<uintptr_t>(last) / page * page;
  (void)::madvise(reinterpret_cast<void*>(from), to - from, how);
}

}  // namespace

void map_memory(size_t heap) {
  populate(&__executable_start, &__init_array_start, MADV_POPULATE_READ);
  // One piece, which malloc() keeps when it is free again.
  (void)::mallopt(M_MMAP_THRESHOLD, static_cast<int>(2 * heap));
  (void)::mallopt(M_TRIM_THRESHOLD, static_cast<int>(2 * heap));
  auto* const piece = static_cast<char*>(std::malloc(heap));
  if (piece != nullptr) populate(piece + ::getpagesize(), piece + heap, MADV_POPULATE_WRITE);
  std::free(piece);
}

}  // namespace base
