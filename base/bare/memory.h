// SPDX-License-Identifier: Apache-2.0
// The instructions of functions on memory, as <cstring> has them, for start.cc. They are here
// so that a test can give them other names than the C library's. Each is called as a function: the
// arguments are in RDI, RSI and RDX, and the result is in RAX.
#pragma once

// The processor's own.
#define BARE_MEMSET "mov %rdi, %r8\nmov %esi, %eax\nmov %rdx, %rcx\nrep stosb\nmov %r8, %rax\nret"
#define BARE_MEMCPY "mov %rdi, %rax\nmov %rdx, %rcx\nrep movsb\nret"

#define BARE_STRLEN "xor %eax, %eax\n1: cmpb $0, (%rdi,%rax)\nje 2f\ninc %rax\njmp 1b\n2: ret"
#define BARE_MEMCMP                                                         \
  "xor %ecx, %ecx\n1: cmp %rdx, %rcx\nje 2f\nmovzbl (%rdi,%rcx), %eax\n"    \
  "movzbl (%rsi,%rcx), %r8d\ninc %rcx\nsub %r8d, %eax\nje 1b\nret\n2: xor " \
  "%eax, %eax\nret"

// 16 bytes at a time, then one.
#define BARE_MEMCHR                                                                       \
  "movd %esi, %xmm0\npunpcklbw %xmm0, %xmm0\npunpcklwd %xmm0, %xmm0\n"                    \
  "pshufd $0, %xmm0, %xmm0\n"                                                             \
  "1: cmp $16, %rdx\njb 3f\nmovdqu (%rdi), %xmm1\npcmpeqb %xmm0, %xmm1\n"                 \
  "pmovmskb %xmm1, %eax\ntest %eax, %eax\njnz 2f\nadd $16, %rdi\nsub $16, %rdx\njmp 1b\n" \
  "2: bsf %eax, %eax\nadd %rdi, %rax\nret\n"                                              \
  "3: test %rdx, %rdx\njz 4f\ncmp %sil, (%rdi)\nje 5f\ninc %rdi\ndec %rdx\njmp 3b\n"      \
  "4: xor %eax, %eax\nret\n5: mov %rdi, %rax\nret"
