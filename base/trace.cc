// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <mutex>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace base {
namespace {

constexpr size_t kFirstSteps = 32;  // what is left out comes after them
constexpr size_t kMostSteps = 64;
constexpr size_t kLongestStep = 200;  // bytes
constexpr size_t kMostText = 1 << 20;

struct Kept {
  int64_t nanos;
  std::string what;
};

struct Trace {
  std::mutex mutex;  // no program of ours has threads that log, but tests have
  const char* program = "";
  std::string file;
  std::vector<Kept> steps;
  int left_out = 0;
};
Trace process_trace;

int64_t now() {
  timespec time{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// Returns the word at the beginning of LINE, and takes it and the blank behind it away.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

Result<TraceStep> parse_step(std::string_view line) {
  TraceStep step;
  step.nanos = TRY(parse_int<int64_t>(take_word(line), 0, INT64_MAX));
  step.pid = TRY(parse_int<int64_t>(take_word(line), 0, INT64_MAX));
  step.program = take_word(line);
  step.what = line;
  return step;
}

}  // namespace

void keep_step(std::string_view what) {
  const std::lock_guard<std::mutex> lock(process_trace.mutex);
  std::vector<Kept>& steps = process_trace.steps;
  if (steps.size() >= kMostSteps) {
    steps.erase(steps.begin() + kFirstSteps);
    ++process_trace.left_out;
  }
  process_trace.steps.push_back({now(), std::string(what.substr(0, kLongestStep))});
}

void trace_as(const char* program) {
  const std::lock_guard<std::mutex> lock(process_trace.mutex);
  process_trace.program = program;
}

void trace_to(std::string file) {
  const std::lock_guard<std::mutex> lock(process_trace.mutex);
  process_trace.file = std::move(file);
}

void write_trace() {
  const std::lock_guard<std::mutex> lock(process_trace.mutex);
  if (process_trace.file.empty()) return;
  std::string text;
  if (process_trace.left_out > 0) {
    Kept& next = process_trace.steps[kFirstSteps];
    next.what = str("(after ", process_trace.left_out, " steps that are left out) ", next.what);
  }
  process_trace.left_out = 0;
  for (const Kept& step : process_trace.steps) {
    text += str(step.nanos, ' ', ::getpid(), ' ', process_trace.program, ' ',
                one_line(step.what, kLongestStep), '\n');
  }
  process_trace.steps.clear();
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW;
  const Result<Fd> file = open_at(AT_FDCWD, process_trace.file, kFlags, 0600);
  // One write: the steps of several programs do not mix.
  if (file.ok()) (void)!::write(file.value().get(), text.data(), text.size());
}

Result<std::vector<TraceStep>> read_trace(const std::string& file) {
  const std::string text = TRY(read_plain_file(file, kMostText));
  std::vector<TraceStep> steps;
  for (const std::string_view line : split(text, '\n')) {
    Result<TraceStep> step = parse_step(line);
    if (step.ok()) steps.push_back(std::move(step).take());
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const TraceStep& a, const TraceStep& b) { return a.nanos < b.nanos; });
  return steps;
}

}  // namespace base
