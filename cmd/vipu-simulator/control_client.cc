// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/time.h>

#include <CLI/CLI.hpp>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/common/usage/usage.h"
#include "cmd/vipu-simulator/control.h"
#include "cmd/vipu-simulator/listen.h"

namespace simulator {

using namespace base::names;
using base::Fd;
using base::Json;

namespace {

// Longer than the longest restart.
constexpr timeval kPatience{70, 0};

struct Arguments {
  std::string path;
  std::string command;
  std::string argument;
};

// Returns JSON as it is, and any other text as a JSON string, so that `agent-down ag3` needs no
// quotes.
Json to_json(const std::string& argument) {
  const Result<Json> json = base::parse_json(argument, "argument");
  return json.ok() ? json.value() : Json(argument);
}

Result<std::string> ask(const Arguments& arguments) {
  Json request{{"command", arguments.command}};
  if (!arguments.argument.empty()) request["argument"] = to_json(arguments.argument);
  const Result<Fd> connected = connect_unix(arguments.path);
  if (!connected.ok()) {
    const Error& error = connected.error();
    return Error(error.code(), base::str(error.message(), "; start 'vipu-simulator --control ",
                                         arguments.path, "' first"));
  }
  const Fd& socket = connected.value();
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  TRY(base::write_all(socket.get(), base::to_text(request) + "\n", "control socket"));
  return base::read_all(socket.get(), Control::kMaxLine, "control socket");
}

int fail(const std::string& message) {
  std::fprintf(stderr, "vipu-simulator: %s\n", base::one_line(message, 1000).c_str());
  return 1;
}

}  // namespace

int run_control(int argc, char** argv) {
  CLI::App app("Send one command to a running simulator and print its reply, a line of JSON",
               "vipu-simulator control");
  app.footer("Example:\n  vipu-simulator control /tmp/pod16.sock agent-down ag3");
  Arguments arguments;
  app.add_option("PATH", arguments.path, "Control socket of the simulator")->required();
  app.add_option("COMMAND", arguments.command,
                 "faults, clear, agent-down, agent-up, taint, untaint, set-error, restart, "
                 "partitions, check, calls or stop")
      ->required();
  app.add_option("ARGUMENT", arguments.argument,
                 "Argument of the command: JSON, or a plain word such as ag3");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    (void)fail(usage::error_of(app, e).message());
    return 2;
  }
  const Result<std::string> reply = ask(arguments);
  if (!reply.ok()) return fail(reply.error().message());
  std::printf("%s", reply.value().c_str());
  const Result<Json> json = base::parse_json(reply.value(), "reply");
  if (!json.ok() || !json.value().is_object())
    return fail("read the reply of the simulator: it is empty or no JSON object");
  return json.value().value("ok", false) ? 0 : 1;
}

}  // namespace simulator
