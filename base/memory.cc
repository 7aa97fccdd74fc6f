// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

// Set by map_program, before the program is relocated.
extern "C" {
[[gnu::visibility("hidden")]] char base_program_is_mapped = 0;
}

extern "C" {
[[gnu::weak]] extern const char base_unmapped_calls[2][8] = {"", ""};
[[gnu::weak]] extern const bool base_maps_code = true;
}

#if defined(__x86_64__)
// The program's first instructions: nothing is relocated yet, there is no stack frame, and RDX and
// the stack are what _start expects. `syscall` spoils RCX and R11.
asm(R"(
  .pushsection .text.map_program, "ax", @progbits
  .globl map_program
  .hidden map_program
  .type map_program, @function
map_program:
  endbr64
  # The stack begins with argc and argv. Behind the words are 8 bytes at least: the environment, the
  # name of the program.
  cmpq $2, (%rsp)
  jb 1f
  mov 16(%rsp), %rax
  mov (%rax), %rax
  cmp base_unmapped_calls(%rip), %rax
  je _start
  cmp base_unmapped_calls+8(%rip), %rax
  je _start
1:
  mov %rdx, %r12
  lea __init_array_start(%rip), %rdi
  and $-4096, %rdi
  mov %rdi, %r13
  lea _end+4095(%rip), %rsi
  and $-4096, %rsi
  sub %rdi, %rsi
  mov $23, %edx # MADV_POPULATE_WRITE
  mov $28, %eax # madvise
  syscall
  cmpb $0, base_maps_code(%rip)
  je 2f
  lea __executable_start(%rip), %rdi
  mov %r13, %rsi
  sub %rdi, %rsi
  mov $22, %edx # MADV_POPULATE_READ
  mov $28, %eax
  syscall
2:
  movb $1, base_program_is_mapped(%rip)
  mov %r12, %rdx
  jmp _start
  .size map_program, . - map_program
  .popsection
)");
static_assert(MADV_POPULATE_READ == 22 && MADV_POPULATE_WRITE == 23 && SYS_madvise == 28);
#endif

namespace base {
namespace {

constexpr size_t kLargePage = 2 << 20;  // on x86_64, and on aarch64 with pages of 4 KiB

// Of the whole pages between these two.
void populate(const void* first, const void* last, int how) {
  const auto page = static_cast<uintptr_t>(::getpagesize());
  const uintptr_t from = reinterpret_cast<uintptr_t>(first) / page * page;
  const uintptr_t to = reinterpret_cast<uintptr_t>(last) / page * page;
  (void)::madvise(reinterpret_cast<void*>(from), to - from, how);
}

}  // namespace

void map_memory(size_t heap) {
  if (base_program_is_mapped == 0)
    populate(&__executable_start, &__init_array_start, MADV_POPULATE_READ);
  // One piece that has a whole large page in it, and that malloc() keeps when it is free again.
  constexpr size_t kPiece = 2 * kLargePage;
  (void)::mallopt(M_MMAP_THRESHOLD, 2 * kPiece);
  (void)::mallopt(M_TRIM_THRESHOLD, 2 * kPiece);
  auto* const piece = static_cast<char*>(std::malloc(kPiece));
  if (piece == nullptr) return;
  const size_t before = kLargePage - reinterpret_cast<uintptr_t>(piece) % kLargePage;
  (void)::madvise(piece + before, kLargePage, MADV_HUGEPAGE);
  populate(piece + before, piece + before + std::min(heap, kLargePage), MADV_POPULATE_WRITE);
  std::free(piece);
  // It stays unused, so that malloc() goes on in the large page. If it were not volatile, the
  // compiler would leave it out.
  static void* volatile unused = nullptr;
  unused = std::malloc(before);
  (void)unused;
}

}  // namespace base
