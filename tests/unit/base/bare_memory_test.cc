// SPDX-License-Identifier: Apache-2.0
// The functions on memory of programs without the C library, beside the C library's. Each text ends
// where a page without access begins.
#include "base/bare/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#if defined(__x86_64__)

#define FUNCTION(name, code) \
  asm(".pushsection .text\n.globl " name "\n" name ":\nendbr64\n" code "\n.popsection")
FUNCTION("bare_memset", BARE_MEMSET);
FUNCTION("bare_memcpy", BARE_MEMCPY);
FUNCTION("bare_strlen", BARE_STRLEN);
FUNCTION("bare_memcmp", BARE_MEMCMP);
FUNCTION("bare_memchr", BARE_MEMCHR);

extern "C" {
void* bare_memset(void* to, int value, size_t size);
void* bare_memcpy(void* to, const void* from, size_t size);
size_t bare_strlen(const char* text);
int bare_memcmp(const void* one, const void* other, size_t size);
const void* bare_memchr(const void* in, int value, size_t size);
}

namespace {

constexpr size_t kMost = 40;

// Bytes whose last one is the last before a page without access.
class Edge {
 public:
  Edge() {
    const auto page = static_cast<size_t>(::getpagesize());
    void* const two =
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end_ = static_cast<char*>(two) + page;
    EXPECT_EQ(::mprotect(end_, page, PROT_NONE), 0);
  }
  ~Edge() {
    const auto page = static_cast<size_t>(::getpagesize());
    (void)::munmap(end_ - page, 2 * page);
  }
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;
  [[nodiscard]] char* last(size_t size) const { return end_ - size; }

 private:
  char* end_ = nullptr;
};

TEST(BareMemory, FindsAsTheCLibraryDoes) {
  const Edge edge;
  for (size_t size = 0; size <= kMost; ++size) {
    char* const text = edge.last(size);
    std::memset(text, 'a', size);
    EXPECT_EQ(bare_memchr(text, 'x', size), nullptr) << size;
    for (size_t at = 0; at < size; ++at) {
      std::memset(text, 'a', size);
      text[at] = static_cast<char>(0xe9);
      if (at + 3 < size) text[at + 3] = text[at];  // not the first
      EXPECT_EQ(bare_memchr(text, 0xe9, size), text + at) << size;
      EXPECT_EQ(bare_memchr(text, static_cast<char>(0xe9), size), text + at) << size;
    }
  }
}

TEST(BareMemory, ComparesAsTheCLibraryDoes) {
  const Edge edge;
  const Edge other_edge;
  const auto sign = [](int value) { return (value > 0) - (value < 0); };
  for (size_t size = 0; size <= kMost; ++size) {
    char* const one = edge.last(size);
    char* const other = other_edge.last(size);
    std::memset(one, 'a', size);
    std::memset(other, 'a', size);
    EXPECT_EQ(bare_memcmp(one, other, size), 0) << size;
    for (size_t at = 0; at < size; ++at) {
      for (const int value : std::initializer_list<int>{'b', 'A', 0xff, 0}) {
        other[at] = static_cast<char>(value);
        EXPECT_EQ(sign(bare_memcmp(one, other, size)), sign(std::memcmp(one, other, size))) << at;
        EXPECT_EQ(bare_memcmp(one, other, at), 0);
      }
      other[at] = 'a';
    }
  }
}

TEST(BareMemory, WritesAndMeasuresAsTheCLibraryDoes) {
  const Edge from;
  const Edge to;
  for (size_t size = 1; size <= kMost; ++size) {
    char* const text = from.last(size);
    EXPECT_EQ(bare_memset(text, 'z', size - 1), text);
    text[size - 1] = '\0';
    EXPECT_EQ(bare_strlen(text), size - 1);
    EXPECT_EQ(bare_strlen(text), std::strlen(text));
    EXPECT_EQ(bare_memcpy(to.last(size), text, size), to.last(size));
    EXPECT_EQ(std::memcmp(to.last(size), text, size), 0);
  }
  EXPECT_EQ(bare_memcpy(to.last(0), from.last(0), 0), to.last(0));
}

}  // namespace

#endif
