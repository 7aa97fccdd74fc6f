// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/options.h"

#include <arpa/inet.h>

#include <CLI/CLI.hpp>

#include "base/text.h"

namespace simulator {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;

// As typed, with the defaults.
struct Arguments {
  std::string listen = "127.0.0.1:8090";
  std::string pod = "pod64";
  std::string create_delay = "50ms";
  std::string fail_create;
  std::string state;
  std::string fabric = "10.5.1.0/24";
  std::string netns;
  bool endpoints = false;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.add_option("--listen", arguments.listen, "IPv4 ADDRESS:PORT for gRPC; port 0 is any free one")
      ->capture_default_str();
  app.add_option("--pod", arguments.pod, "pod16 or pod64")->capture_default_str();
  app.add_option("--create-delay", arguments.create_delay, "time until a partition is ACTIVE")
      ->capture_default_str();
  app.add_option("--fail-create", arguments.fail_create,
                 "let every new partition end in PS_ERROR with this text");
  app.add_option("--state", arguments.state, "file that keeps the partitions over a restart");
  app.add_option("--fabric", arguments.fabric,
                 "network of the IPU-Machines; machine m (from 1) has its address m")
      ->capture_default_str();
  app.add_flag("--endpoints", arguments.endpoints,
               "answer TCP on every address and port that is handed out");
  app.add_option("--netns", arguments.netns,
                 "network namespace of the endpoints: a path, or a name in /run/netns");
}

Status parse_listen(std::string_view text, Options& options) {
  const Error wrong(Code::kInvalid, str("--listen: ", base::quote(text),
                                        " is not ADDRESS:PORT, such as 127.0.0.1:8090"));
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return wrong;
  options.host = std::string(text.substr(0, colon));
  in_addr address{};
  if (::inet_pton(AF_INET, options.host.c_str(), &address) != 1) return wrong;
  const Result<uint16_t> port = base::parse_int<uint16_t>(text.substr(colon + 1), 0, 65535);
  if (!port.ok()) return wrong;
  options.port = port.value();
  return {};
}

Result<Options> checked(const Arguments& arguments) {
  Options options;
  TRY(parse_listen(arguments.listen, options));
  options.pod =
      TRY_CTX("--pod, --fabric", vipu::simulator::parse_pod(arguments.pod, arguments.fabric));
  options.create_delay = TRY_CTX("--create-delay", base::parse_duration(arguments.create_delay));
  options.create_error = arguments.fail_create;
  options.state_file = arguments.state;
  options.endpoints = arguments.endpoints ? Endpoints::kYes : Endpoints::kNo;
  if (!arguments.netns.empty() && !arguments.endpoints) {
    return Error(Code::kInvalid, "--netns: is for the endpoints; give --endpoints as well");
  }
  const bool is_path = arguments.netns.find('/') != std::string::npos;
  options.netns =
      arguments.netns.empty() || is_path ? arguments.netns : str("/run/netns/", arguments.netns);
  return options;
}

}  // namespace

Result<std::optional<Options>> parse_options(int argc, char** argv) {
  CLI::App app("A V-IPU controller over a model of an IPU-POD, for work without the hardware.",
               "vipu-simulator");
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Help is an exit with success, which CLI11 reports as an exception too.
    if (e.get_exit_code() == 0) {
      (void)app.exit(e);
      return std::optional<Options>();
    }
    return Error(Code::kInvalid, str(e.what(), "; see vipu-simulator --help"));
  }
  return std::optional<Options>(TRY(checked(arguments)));
}

}  // namespace simulator
