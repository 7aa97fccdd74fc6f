// SPDX-License-Identifier: Apache-2.0
// Times commands side by side: paired [OPTIONS] VARIANT=COMMAND...
//
// Each round runs every variant once, in an order of its own, and rests after each, so that what
// the kernel still tears down of one does not fall on the next. A variant is compared with the
// first one, round by round: the median of the differences, and the interval that holds it with 95
// percent by bootstrap. So a busy moment of the machine, which hits a whole round, says little.
//
// A COMMAND is split at blanks; "{}" in it is another number in each run. It succeeds, or the
// program ends.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/statistics.h"

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

struct Variant {
  std::string name;
  std::vector<std::string> command;
  std::vector<double> wall = {};  // milliseconds, of each round
  std::vector<double> cpu = {};   // of the command and of those that it waited for
};

struct Options {
  std::string title;
  size_t rounds = 100;
  std::chrono::milliseconds rest{0};
  std::vector<std::string> restore;  // files, and what they are before each run
  std::string json;
};

[[noreturn]] void fail(const std::string& what) {
  (void)std::fprintf(stderr, "paired: %s\n", what.c_str());
  std::exit(1);
}

Variant parse(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) fail("'" + text + "' is not VARIANT=COMMAND");
  Variant variant{text.substr(0, equals), {}};
  std::istringstream words(text.substr(equals + 1));
  for (std::string word; words >> word;) variant.command.push_back(word);
  if (variant.command.empty()) fail("'" + text + "' has no command");
  return variant;
}

double millis_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

void run_once(Variant& variant, int null, uint64_t number) {
  std::vector<std::string> command = variant.command;
  std::vector<char*> argv;
  for (std::string& word : command) {
    const size_t at = word.find("{}");
    if (at != std::string::npos) word.replace(at, 2, std::to_string(number));
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, null, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, null, STDOUT_FILENO);
  pid_t child = -1;
  int status = 0;
  rusage usage{};
  const Clock::time_point from = Clock::now();
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  if (error == 0 && ::wait4(child, &status, 0, &usage) != child) fail("wait4");
  const std::chrono::duration<double, std::milli> took = Clock::now() - from;
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(command[0] + ": " + std::strerror(error));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail(variant.name + ": its command failed");
  variant.wall.push_back(took.count());
  variant.cpu.push_back(millis_of(usage.ru_utime) + millis_of(usage.ru_stime));
}

// PAIRS are "FILE=ORIGINAL".
void restore(const std::vector<std::string>& pairs) {
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) fail("--restore '" + pair + "' is not FILE=ORIGINAL");
    std::filesystem::copy_file(pair.substr(equals + 1), pair.substr(0, equals),
                               std::filesystem::copy_options::overwrite_existing);
  }
}

void measure(std::vector<Variant>& variants, const Options& options) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  std::mt19937 random(std::random_device{}());
  std::vector<size_t> order(variants.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  uint64_t number = static_cast<uint64_t>(::getpid()) << 20;
  for (size_t round = 0; round < options.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      restore(options.restore);
      run_once(variants[i], null, ++number);
      std::this_thread::sleep_for(options.rest);
    }
  }
  ::close(null);
}

Json summary(const Variant& variant, const Variant& base) {
  const auto differences = [](const std::vector<double>& of, const std::vector<double>& to) {
    const bench::Interval found = bench::median_difference(of, to);
    return Json{{"median", found.median}, {"low", found.low}, {"high", found.high}};
  };
  Json json{{"name", variant.name}, {"rounds", variant.wall.size()}};
  for (const int percent : {10, 50, 90, 99}) {
    json["p" + std::to_string(percent)] = bench::percentile(variant.wall, percent);
  }
  json["cpu"] = bench::percentile(variant.cpu, 50);
  json["added"] = differences(variant.wall, base.wall);
  json["added_cpu"] = differences(variant.cpu, base.cpu);
  return json;
}

void print(const Json& all) {
  (void)std::printf("  %-24s %8s %8s %8s %8s   %-28s %s\n", "milliseconds", "p10", "p50", "p90",
                    "p99", "added to the first (95 %)", "added CPU time");
  for (const Json& one : all) {
    const auto number = [&](const char* key) { return one[key].get<double>(); };
    const auto interval = [&](const char* key) {
      char text[64];
      const Json& of = one[key];
      (void)std::snprintf(text, sizeof text, "%+.2f (%+.2f to %+.2f)", of["median"].get<double>(),
                          of["low"].get<double>(), of["high"].get<double>());
      return std::string(text);
    };
    (void)std::printf("  %-24s %8.2f %8.2f %8.2f %8.2f   %-28s %s\n",
                      one["name"].get<std::string>().c_str(), number("p10"), number("p50"),
                      number("p90"), number("p99"), interval("added").c_str(),
                      interval("added_cpu").c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> texts;
  CLI::App app("Time commands side by side");
  app.add_option("--title", options.title, "What is compared");
  app.add_option("--rounds", options.rounds, "Runs of each variant")->check(CLI::Range(3, 100000));
  app.add_option("--rest", options.rest, "Milliseconds of rest after each run");
  app.add_option("--restore", options.restore, "FILE=ORIGINAL: copied before each run")
      ->allow_extra_args(false);
  app.add_option("--json", options.json, "Append the result to this file, a line of JSON");
  app.add_option("variant", texts, "VARIANT=COMMAND")->required();
  CLI11_PARSE(app, argc, argv);
  std::vector<Variant> variants;
  for (const std::string& text : texts) variants.push_back(parse(text));
  measure(variants, options);
  Json all = Json::array();
  for (const Variant& variant : variants) all.push_back(summary(variant, variants.front()));
  (void)std::printf("%s, %zu rounds\n", options.title.c_str(), options.rounds);
  print(all);
  if (!options.json.empty()) {
    std::ofstream file(options.json, std::ios::app);
    file << Json{{"title", options.title}, {"variants", all}}.dump() << "\n";
    if (!file.flush()) fail("cannot write " + options.json);
  }
  return 0;
}
