// SPDX-License-Identifier: Apache-2.0
// A line that a user sends to ipu-agent.
#include "cmd/ipu-agent/protocol/request.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto words = agent::words_of(fuzz::text_of(data, size));
  if (!words.ok()) return 0;
  fuzz::require(agent::check_words(words.value()).ok(), "words of a request pass the check");
  for (const std::string& word : words.value())
    fuzz::require(word.find_first_of(std::string("/\n\0 ", 4)) == std::string::npos,
                  "a word is no path and no line");
  return 0;
}
