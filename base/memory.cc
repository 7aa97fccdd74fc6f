// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#ifndef MADV_POPULATE_WRITE  // since Linux 5.14; glibc 2.36 has it
#define MADV_POPULATE_WRITE 23
#endif

#if defined(__x86_64__)
// The program's first instructions: nothing is relocated yet, there is no stack frame, and RDX and
// the stack are what _start expects. `syscall` spoils RCX and R11. The data begins, by the linker,
// at __init_array_start.
asm(R"(
  .pushsection .text.map_program, "ax", @progbits
  .globl map_program
  .hidden map_program
  .type map_program, @function
map_program:
  endbr64
  mov %rdx, %r12
  lea __init_array_start(%rip), %rdi
  and $-4096, %rdi
  lea _end+4095(%rip), %rsi
  and $-4096, %rsi
  sub %rdi, %rsi
  mov $23, %edx # MADV_POPULATE_WRITE
  mov $28, %eax # madvise
  syscall
  mov %r12, %rdx
  jmp _start
  .size map_program, . - map_program
  .popsection
)");
static_assert(MADV_POPULATE_WRITE == 23 && SYS_madvise == 28);
#endif

namespace base {

void map_memory(size_t heap) {
  // malloc() keeps a piece of this size when it is free again.
  (void)::mallopt(M_MMAP_THRESHOLD, static_cast<int>(2 * heap));
  (void)::mallopt(M_TRIM_THRESHOLD, static_cast<int>(2 * heap));
  auto* const piece = static_cast<char*>(std::malloc(heap));
  if (piece == nullptr) return;
  const auto page = static_cast<uintptr_t>(::getpagesize());
  const uintptr_t first = (reinterpret_cast<uintptr_t>(piece) + page - 1) / page * page;
  const uintptr_t last = (reinterpret_cast<uintptr_t>(piece) + heap) / page * page;
  (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE);
  std::free(piece);
}

}  // namespace base
