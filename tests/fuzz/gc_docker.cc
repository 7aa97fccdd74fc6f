// SPDX-License-Identifier: Apache-2.0
// The command line of gc-docker, a word a line, on a host of a POD and on one with cards.
#include <string>

#include "base/text.h"
#include "cmd/gc-docker/front_end/translate.h"
#include "tests/fuzz/fuzz.h"

namespace {

front::Caller pod_host() {
  front::Caller caller;
  caller.environment = {{"IPUOF_VIPU_API_PARTITION_ID", "p0"}, {"HOME", "/root"}};
  caller.env_files = {"IPU_COUNT=4\nNAME\n# comment\n"};
  caller.infiniband = true;
  hook::config::PoolConfig pool{"pod64"};
  pool.controller = "10.1.3.101:8090";
  caller.pools = {pool};
  caller.places["/p0.conf"] = {"/p0.conf", false, {{"/p0.conf", 16}}};
  return caller;
}

front::Caller cards_host() {
  front::Caller caller;
  for (uint32_t number = 0; number < 8; ++number) {
    caller.cards.push_back({number, "", -1, {{base::str("/dev/ipu", number), 60, number}}});
  }
  caller.shared_memory = uint64_t{1} << 30;
  return caller;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto arguments = front::parse_front_end(words_of(fuzz::text_of(data, size)));
  if (!arguments.ok()) return 0;
  for (const front::Caller& caller : {pod_host(), cards_host()}) {
    const auto to = front::translate(caller, arguments.value());
    if (!to.ok()) continue;
    fuzz::require(!to.value().command.empty() && to.value().command[0] == "docker",
                  "docker is called");
    (void)front::shell_line(to.value().command);
  }
  return 0;
}
