// SPDX-License-Identifier: Apache-2.0
// The start of a program without the C library, and what it calls: system calls, and the functions
// on memory that g++ itself calls. It needs no relocation, because it has no addresses in its data;
// the Makefile checks that. In other builds than the release, the C library stands in for this
// room.
#if !defined(__x86_64__)
#error "this file is for x86_64"
#endif

#include <asm/unistd_64.h>
#include <elf.h>

#include <cstddef>
#include <cstdint>

#include "base/bare/memory.h"

// The stack protector reads its canary at %fs:40, where glibc's TCB has it.
struct ThreadBlock {
  void* unused[5];
  uintptr_t canary;
};
static_assert(offsetof(ThreadBlock, canary) == 40);

extern "C" {

int call_main(int argc, char** argv, char** environment) asm("main");
int bare_errno = 0;
static ThreadBlock thread_block;

int* __errno_location() noexcept { return &bare_errno; }

[[noreturn]] void bare_abort() { __builtin_trap(); }
[[noreturn]] void __stack_chk_fail() { bare_abort(); }

long bare_call(long number, long first, const void* second, long third);
[[noreturn]] void bare_exit(int status);

// STACK has the count of arguments, they, a zero, the environment, a zero, and the auxiliary
// vector.
[[noreturn, gnu::no_stack_protector, gnu::used]] void bare_main(uintptr_t* stack) {
  constexpr long kSetFs = 0x1002;  // ARCH_SET_FS of asm/prctl.h
  const int argc = static_cast<int>(stack[0]);
  auto** const argv = reinterpret_cast<char**>(stack + 1);
  char** const environment = argv + argc + 1;
  char** after = environment;
  while (*after != nullptr) ++after;
  for (auto* one = reinterpret_cast<Elf64_auxv_t*>(after + 1); one->a_type != AT_NULL; ++one) {
    if (one->a_type != AT_RANDOM) continue;
    __builtin_memcpy(&thread_block.canary, reinterpret_cast<void*>(one->a_un.a_val),
                     sizeof thread_block.canary);
    thread_block.canary &= ~uintptr_t{0xff};  // no text runs over it
  }
  (void)bare_call(__NR_arch_prctl, kSetFs, &thread_block, 0);
  bare_exit(call_main(argc, argv, environment));
}

// Of std::string_view: std::__throw_out_of_range_fmt.
[[noreturn]] void bare_out_of_range(const char*, ...) asm("_ZSt24__throw_out_of_range_fmtPKcz");
void bare_out_of_range(const char*, ...) { bare_abort(); }

}  // extern "C"

#define FUNCTION(name, code)                                                                 \
  asm(".pushsection .text." name ", \"ax\", @progbits\n.globl " name "\n.hidden " name       \
      "\n.type " name ", @function\n" name ":\nendbr64\n" code "\n.size " name ", . - " name \
      "\n.popsection")
#define TEXT_OF(text) #text
#define MOVE_NUMBER(call) "mov $" TEXT_OF(call) ", %eax\n"

FUNCTION("_start", "xor %ebp, %ebp\nmov %rsp, %rdi\nand $-16, %rsp\ncall bare_main\nud2");

// A call with up to three arguments; its error goes to errno.
FUNCTION("bare_syscall",
         "syscall\ncmp $-4096, %rax\njbe 1f\nneg %eax\nmov %eax, bare_errno(%rip)\n"
         "mov $-1, %rax\n1: ret");
FUNCTION("bare_call",
         "mov %edi, %eax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\njmp bare_syscall");
FUNCTION("bare_exit", MOVE_NUMBER(__NR_exit_group) "syscall\nud2");
FUNCTION("read", MOVE_NUMBER(__NR_read) "jmp bare_syscall");
FUNCTION("write", MOVE_NUMBER(__NR_write) "jmp bare_syscall");
FUNCTION("open", MOVE_NUMBER(__NR_open) "jmp bare_syscall");
FUNCTION("close", MOVE_NUMBER(__NR_close) "jmp bare_syscall");
FUNCTION("stat", MOVE_NUMBER(__NR_stat) "jmp bare_syscall");
FUNCTION("lstat", MOVE_NUMBER(__NR_lstat) "jmp bare_syscall");
FUNCTION("fstat", MOVE_NUMBER(__NR_fstat) "jmp bare_syscall");
FUNCTION("access", MOVE_NUMBER(__NR_access) "jmp bare_syscall");
FUNCTION("readlink", MOVE_NUMBER(__NR_readlink) "jmp bare_syscall");
FUNCTION("execve", MOVE_NUMBER(__NR_execve) "jmp bare_syscall");

FUNCTION("setsid", MOVE_NUMBER(__NR_setsid) "jmp bare_syscall");
FUNCTION("chdir", MOVE_NUMBER(__NR_chdir) "jmp bare_syscall");
FUNCTION("dup", MOVE_NUMBER(__NR_dup) "jmp bare_syscall");
FUNCTION("close_range", MOVE_NUMBER(__NR_close_range) "jmp bare_syscall");
// The fourth argument: no usage of the child's resources; the size of a set of signals.
FUNCTION("waitpid", "xor %r10d, %r10d\n" MOVE_NUMBER(__NR_wait4) "jmp bare_syscall");
FUNCTION("sigprocmask", "mov $8, %r10d\n" MOVE_NUMBER(__NR_rt_sigprocmask) "jmp bare_syscall");
// The child takes the address to which both return off the stack, and its calls write there.
FUNCTION("vfork", "pop %rdx\n" MOVE_NUMBER(__NR_vfork)
         "syscall\npush %rdx\ncmp $-4096, %rax\njbe 1f\nneg %eax\nmov %eax, bare_errno(%rip)\n"
         "mov $-1, %rax\n1: ret");
FUNCTION("_exit", "jmp bare_exit");

FUNCTION("memset", BARE_MEMSET);
FUNCTION("memcpy", BARE_MEMCPY);
FUNCTION("strlen", BARE_STRLEN);
FUNCTION("memcmp", BARE_MEMCMP);
FUNCTION("memchr", BARE_MEMCHR);
