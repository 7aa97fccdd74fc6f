// SPDX-License-Identifier: Apache-2.0
// gc-docker, gc-podman: Graphcore's command line for containers with IPUs, which get a lease. The
// name of the program selects the engine.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/gc-docker/front_end/translate.h"
#include "cmd/gc-docker/look.h"
#include "hook/config/paths.h"

namespace {

using namespace base::names;

constexpr int kOwnError = 125;  // docker's status for errors of its own, not of the container's
constexpr size_t kLongest = 2000;

// The differences between gc-docker and gc-podman.
struct FrontEnd {
  std::string name;     // "gc-docker"
  std::string engine;   // searched in PATH
  std::string runtime;  // as the engine knows the product
};

FrontEnd front_end_of(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  // podman also takes a path as the runtime, and then needs no configuration.
  if (name == "gc-podman") return {"gc-podman", "podman", hook::config::runtime_program()};
  return {"gc-docker", "docker", "ipu"};
}

void say(const FrontEnd& self, const std::string& message) {
  (void)std::fprintf(stderr, "%s: %s\n", self.name.c_str(),
                     base::one_line(message, kLongest).c_str());
}

int fail(const FrontEnd& self, const Error& error) {
  say(self, error.message());
  return kOwnError;
}

int print(const FrontEnd& self, const std::string& text) {
  (void)std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) == 0) return 0;
  return fail(self, Error::from_errno(errno, "write to standard output"));
}

std::string help(const FrontEnd& self) {
  return str("usage: ", self.name,
             " [--count N | --device-id N]... [--host-network] [--echo] --"
             " [RUN-OPTION]... IMAGE [COMMAND]...\n"
             "Run a container with IPUs, with '",
             self.engine,
             " run'.\n\n"
             "  --count N        create a partition of N IPUs, or use N linked cards\n"
             "  -d, --device-id N\n"
             "                   use the cards of this logical id (repeatable)\n"
             "  --host-network   give the container the network and the devices of the host,\n"
             "                   as Graphcore's tool does\n"
             "  --echo           print the command instead of running it\n"
             "  --help           print this help\n"
             "  --version        print the version\n\n"
             "Without --count and --device-id, the IPUs are those of the first of\n"
             "IPUOF_CONFIG_PATH, IPUOF_VIPU_API_PARTITION_ID, ~/.ipuof.conf.d and\n"
             "/etc/ipuof.conf.d that names any, or all cards; see gc-docker(1).\n\n"
             "Example:\n  ",
             self.name, " --count 4 -- --rm busybox cat /run/ipu/lease.json\n");
}

// Becomes the engine, so that its exit status is this program's. Searches PATH, as the caller's
// shell does: this program has no rights that the caller lacks, and a docker that comes first there
// is the one that the caller means.
Error become(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  (void)::execvp(argv[0], argv.data());
  const int err = errno;
  if (err == ENOENT) {
    return Error(base::Code::kNotFound,
                 str("execute ", base::quote(command[0]), ": it is not in PATH; install it"));
  }
  return Error::from_errno(err, str("execute ", base::quote(command[0])));
}

int run(const FrontEnd& self, const std::vector<std::string>& args) {
  const Result<front::FrontEndArguments> arguments = front::parse_front_end(args);
  if (!arguments.ok()) return fail(self, arguments.error());
  if (arguments.value().help) return print(self, help(self));
  if (arguments.value().version) {
    return print(self, str(self.name, " ", base::product_version(), "\n"));
  }
  const front::Caller caller = front::look(arguments.value(), self.engine, self.runtime);
  const Result<front::Translation> to = front::translate(caller, arguments.value());
  if (!to.ok()) return fail(self, to.error());
  for (const std::string& note : to.value().notes) say(self, note);
  if (arguments.value().echo) {
    return print(self, str(front::shell_line(to.value().command), "\n"));
  }
  return fail(self, become(to.value().command));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return run(front_end_of(argc > 0 ? argv[0] : "gc-docker"), args);
}
