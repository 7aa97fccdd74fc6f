// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/watch.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"

namespace ipuctl {
namespace {

using namespace base::names;
using std::chrono::seconds;

constexpr seconds kWatchTime{2};
constexpr int64_t kLongestWatch = 3600;
constexpr size_t kLongestLine = 2000;

std::string_view last_words;  // of a handler, which reaches nothing else

void end_now(int /*signal*/) {
  if (!last_words.empty() && ::write(STDOUT_FILENO, last_words.data(), last_words.size()) < 0) {
    // The terminal has gone, and with it what would be restored.
  }
  ::_exit(0);
}

const CLI::App& leaf_of(const CLI::App& app) {
  const CLI::App* leaf = &app;
  while (!leaf->get_subcommands().empty()) leaf = leaf->get_subcommands().front();
  return *leaf;
}

// Returns the value of an option; unset if it was not given.
std::optional<std::string> value_of_option(const CLI::App& leaf, const char* name) {
  const CLI::Option* const option = leaf.get_option_no_throw(name);
  if (option == nullptr || option->count() == 0) return std::nullopt;
  return option->results().back();
}

// Returns what stands before a snapshot in a format, so that programs know where it begins. JSON
// needs nothing.
std::string heading_of(const std::string& format, bool is_first) {
  if (format == "json") return "";
  if (format == "yaml") return "---\n";
  if (format == "csv") return is_first ? "" : "\n";
  return str("==== ", base::rfc3339(base::unix_millis()), '\n');
}

Status print_snapshot(const Outcome& outcome, const std::string& format, bool is_first) {
  TRY(base::write_all(STDOUT_FILENO, heading_of(format, is_first) + base::safe_lines(outcome.text),
                      "standard output"));
  for (const Error& obstacle : outcome.obstacles) {
    (void)std::fprintf(stderr, "ipuctl: %s\n",
                       base::one_line(obstacle.message(), kLongestLine).c_str());
  }
  return {};
}

Status draw(const Outcome& outcome, seconds every) {
  const screen::Size size = terminal_size();
  std::string page =
      str(base::rfc3339(base::unix_millis()), ", every ", every.count(), " s; Ctrl-C ends it\n\n");
  // In front of a list that may be longer than the terminal.
  for (const Error& obstacle : outcome.obstacles) page += str("ipuctl: ", obstacle.message(), '\n');
  page += outcome.text;
  return base::write_all(STDOUT_FILENO,
                         screen::drawing(screen::fit_lines(page, size.columns), size), "terminal");
}

Result<Outcome> watch(const Command& command, seconds every, const std::string& format) {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  end_by_signals(is_terminal ? "\n" : "");
  for (bool is_first = true;; is_first = false) {
    Result<Outcome> looked = command();
    if (!looked.ok() && is_first) return looked;
    const Outcome outcome = looked.ok() ? std::move(looked).take() : Outcome{"", {looked.error()}};
    TRY(is_terminal ? draw(outcome, every) : print_snapshot(outcome, format, is_first));
    base::sleep_for(every, Deadline::after(every));
  }
}

}  // namespace

Result<seconds> parse_watch(const std::string& text) {
  if (text.empty()) return kWatchTime;
  return seconds(TRY(base::parse_int<int64_t>(text, 1, kLongestWatch)));
}

Command watched(const CLI::App& app, Command command) {
  const CLI::App& leaf = leaf_of(app);
  const std::optional<std::string> value = value_of_option(leaf, "--watch");
  if (!value) return command;
  const std::string format = value_of_option(leaf, "--output").value_or("table");
  return [command = std::move(command), text = *value, format]() -> Result<Outcome> {
    const seconds every = TRY(parse_watch(text));
    return watch(command, every, format);
  };
}

void end_by_signals(std::string_view last) {
  last_words = last;
  struct sigaction action {};
  action.sa_handler = end_now;
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) (void)::sigaction(signal, &action, nullptr);
}

screen::Size terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

}  // namespace ipuctl
