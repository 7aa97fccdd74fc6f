// SPDX-License-Identifier: Apache-2.0
// Gives each seed of a target to it, and prefixes of each, and counts the work: basic blocks of the
// code under test, which is compiled with -fsanitize-coverage=trace-pc for this program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

// The costliest seeds need about a fifth of it. A list of 16,384 numbers, read in quadratic time,
// needs many times more.
constexpr uint64_t kBlocksPerByte = 4000;
constexpr uint64_t kBlocksAtAll = 2'000'000;
constexpr size_t kPrefixes = 32;

uint64_t blocks = 0;

// This program is called unit-fuzz-TARGET.
std::filesystem::path folder() {
  const std::string program = program_invocation_short_name;
  return std::filesystem::path(TEST_DATA_DIR "/fuzz") / program.substr(std::strlen("unit-fuzz-"));
}

std::vector<std::string> seeds() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<uint8_t> content_of(const std::string& seed) {
  std::ifstream file(folder() / seed, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A copy of its own, so that a sanitizer sees a read behind its end.
uint64_t work_for(std::vector<uint8_t> input) {
  blocks = 0;
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return blocks;
}

class Seed : public testing::TestWithParam<std::string> {};

TEST_P(Seed, KeepsThePromisesAndTheLimitOnWork) {
  const std::vector<uint8_t> input = content_of(GetParam());
  const uint64_t work = work_for(input);
  RecordProperty("blocks", std::to_string(work));
  EXPECT_LE(work, kBlocksAtAll + kBlocksPerByte * input.size());
}

TEST_P(Seed, KeepsThePromisesCutAnywhere) {
  const std::vector<uint8_t> input = content_of(GetParam());
  const size_t step = input.size() / kPrefixes + 1;
  for (size_t end = 0; end < input.size(); end += step) {
    const auto first = input.begin();
    const uint64_t work = work_for({first, first + static_cast<std::ptrdiff_t>(end)});
    EXPECT_LE(work, kBlocksAtAll + kBlocksPerByte * end) << "the first " << end << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, Seed, testing::ValuesIn(seeds()), [](const auto& seed) {
  std::string name = seed.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() { ++blocks; }
