// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/options.h"

#include <arpa/inet.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/common/usage/usage.h"

namespace simulator {
namespace {

using namespace base::names;
using vipu::simulator::Settings;

// The options as typed, with their defaults.
struct Arguments {
  std::string listen = "127.0.0.1:8090";
  vipu::simulator::PodText pod;
  std::string create_delay = "50ms";
  std::string reset_delay;
  std::string auto_reset_delay = "5s";
  std::string metrics;
  std::string netns;
  bool endpoints = false;
  std::vector<std::string> quirks;
  Options options;  // options that need no parsing
};

void declare_pod(CLI::App& app, Arguments& arguments) {
  const char* const group = "The POD";
  app.add_option("--pod", arguments.pod.name,
                 "Model of the POD: pod4, pod16, pod64, pod128 or pod256")
      ->capture_default_str()
      ->type_name("POD")
      ->group(group);
  app.add_option("--cluster", arguments.pod.cluster, "Name of the cluster (default: c-POD)")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--allocation", arguments.pod.allocations,
                 "Add an allocation, such as a=ag1-ag4,ag7 (repeatable; default: alloc-1, of all)")
      ->allow_extra_args(false)
      ->type_name("NAME=AGENTS")
      ->group(group);
  app.add_option("--fabric", arguments.pod.fabric,
                 "Network of the IPU-Machines; machine M (from 1) has address M in it")
      ->capture_default_str()
      ->type_name("NETWORK")
      ->group(group);
  app.add_flag("--endpoints", arguments.endpoints,
               "Answer TCP on every address and port that is handed out")
      ->group(group);
  app.add_option("--netns", arguments.netns,
                 "Network namespace of the endpoints: a path, or a name in /run/netns")
      ->type_name("NAMESPACE")
      ->group(group);
}

void declare_controller(CLI::App& app, Arguments& arguments) {
  const char* const group = "The controller";
  app.add_option("--listen", arguments.listen, "IPv4 address for gRPC; port 0 is any free one")
      ->capture_default_str()
      ->type_name("ADDRESS:PORT")
      ->group(group);
  app.add_option("--state", arguments.options.state_file,
                 "Keep the partitions in this file over a restart")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--create-delay", arguments.create_delay, "Time until a new partition is ACTIVE")
      ->capture_default_str()
      ->type_name("TIME")
      ->group(group);
  app.add_option("--reset-delay", arguments.reset_delay,
                 "Time until a reset partition is ACTIVE (default: --create-delay)")
      ->type_name("TIME")
      ->group(group);
  app.add_option("--auto-reset-delay", arguments.auto_reset_delay,
                 "Time until a failed partition is reset automatically")
      ->capture_default_str()
      ->type_name("TIME")
      ->group(group);
  app.add_option("--max-auto-resets", arguments.options.settings.max_auto_resets,
                 "Let a partition stay in PS_ERROR after N automatic resets; 0 disables them")
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
}

void declare_security(CLI::App& app, Options& options) {
  const char* const group = "Who may call";
  app.add_option("--secure", options.users_file, "File of users, their keys and allocations")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--user-metadata", options.user_metadata, "Key of the gRPC metadata with the user")
      ->default_val("vipu-user-id")
      ->type_name("KEY")
      ->group(group);
  app.add_option("--key-metadata", options.key_metadata,
                 "Key of the gRPC metadata with the access key")
      ->default_val("vipu-access-key")
      ->type_name("KEY")
      ->group(group);
  app.add_option("--tls-cert", options.tls.certificate,
                 "Use TLS, with this certificate chain (PEM)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--tls-key", options.tls.key, "Private key of the certificate (PEM)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--tls-client-ca", options.tls.client_ca,
                 "Require clients to have a certificate of this authority (PEM)")
      ->type_name("FILE")
      ->group(group);
}

void declare_trouble(CLI::App& app, Arguments& arguments) {
  Options& options = arguments.options;
  app.add_option("--faults", options.faults_file, "Fault plan: which calls fail, and how")
      ->type_name("FILE")
      ->group("Trouble");
  app.add_option(
         "--quirk", arguments.quirks,
         str("Answer as another controller would (repeatable): ", vipu::simulator::quirk_names()))
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE")
      ->group("Trouble");
  app.add_option("--fail-create", options.settings.create_error,
                 "Let every new partition end in PS_ERROR with this text")
      ->type_name("TEXT")
      ->group("Trouble");
  app.add_option("--control", options.control_path,
                 "Unix socket for commands; see 'vipu-simulator control --help'")
      ->type_name("PATH")
      ->group("Trouble");
  app.add_option("--log", options.log_file,
                 "Write a line of JSON for each call and each change of an IPU to this file")
      ->type_name("FILE")
      ->group("What goes on");
  app.add_option("--metrics", arguments.metrics, "IPv4 address for OpenMetrics over HTTP")
      ->type_name("ADDRESS:PORT")
      ->group("What goes on");
}

Result<Address> parse_address(std::string_view option, std::string_view text) {
  const Error wrong(Code::kInvalid, str(option, ": ", base::quote(text),
                                        " is not an IPv4 ADDRESS:PORT, such as 127.0.0.1:8090"));
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return wrong;
  in_addr address{};
  const std::string host(text.substr(0, colon));
  if (::inet_pton(AF_INET, host.c_str(), &address) != 1) return wrong;
  const Result<uint16_t> port = base::parse_int<uint16_t>(text.substr(colon + 1), 0, 65535);
  if (!port.ok()) return wrong;
  return Address{host, port.value()};
}

Result<Settings> settings_of(const Arguments& arguments) {
  Settings settings = arguments.options.settings;
  settings.create_delay = TRY_CTX("--create-delay", base::parse_duration(arguments.create_delay));
  settings.reset_delay = settings.create_delay;
  if (!arguments.reset_delay.empty()) {
    settings.reset_delay = TRY_CTX("--reset-delay", base::parse_duration(arguments.reset_delay));
  }
  settings.quirks = TRY_CTX("--quirk", vipu::simulator::parse_quirks(arguments.quirks));
  settings.auto_reset_delay =
      TRY_CTX("--auto-reset-delay", base::parse_duration(arguments.auto_reset_delay));
  return settings;
}

// Refuses a key that gRPC would refuse, and "-bin" at the end, which would mean base64.
Status check_metadata(std::string_view option, const std::string& key) {
  const bool is_plain = std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
  if (is_plain && !key.empty() && !key.ends_with("-bin")) return {};
  return Error(Code::kInvalid,
               str(option, ": ", base::quote(key),
                   " is not a key of gRPC metadata: give a-z, 0-9, '-', '_' and '.', and not '-bin'"
                   " at the end"));
}

Status check_security(const Options& options) {
  TRY(check_metadata("--user-metadata", options.user_metadata));
  TRY(check_metadata("--key-metadata", options.key_metadata));
  if (options.tls.certificate.empty() != options.tls.key.empty()) {
    return Error(Code::kInvalid, "--tls-cert and --tls-key: give both or neither");
  }
  if (!options.tls.client_ca.empty() && options.tls.certificate.empty()) {
    return Error(Code::kInvalid, "--tls-client-ca requires --tls-cert and --tls-key");
  }
  return {};
}

Result<Options> checked(const Arguments& arguments) {
  Options options = arguments.options;
  options.listen = TRY(parse_address("--listen", arguments.listen));
  if (!arguments.metrics.empty()) {
    options.metrics = TRY(parse_address("--metrics", arguments.metrics));
  }
  options.pod = TRY_CTX("--pod, --cluster, --allocation, --fabric",
                        vipu::simulator::parse_pod(arguments.pod));
  options.settings = TRY(settings_of(arguments));
  TRY(check_security(options));
  options.endpoints = arguments.endpoints ? Endpoints::kYes : Endpoints::kNo;
  if (!arguments.netns.empty() && !arguments.endpoints) {
    return Error(Code::kInvalid, "--netns requires --endpoints");
  }
  const bool is_path = arguments.netns.find('/') != std::string::npos;
  options.netns =
      arguments.netns.empty() || is_path ? arguments.netns : str("/run/netns/", arguments.netns);
  return options;
}

}  // namespace

Result<std::optional<Options>> parse_options(int argc, char** argv) {
  CLI::App app(
      "Simulate a V-IPU controller over a model of an IPU-POD, for work without the hardware",
      "vipu-simulator");
  app.footer(
      "Times are numbers with the unit ms, s, m, h or d, such as 50ms or 2s, and at most 24h.\n"
      "For fault plans, quirks, users and the log, see vipu-simulator(1).\n\n"
      "Example:\n"
      "  vipu-simulator --pod pod16 --listen 127.0.0.1:0 --control /tmp/pod16.sock");
  app.set_version_flag("--version", str("vipu-simulator ", base::product_version()),
                       "Print the version and exit");
  Arguments arguments;
  declare_pod(app, arguments);
  declare_controller(app, arguments);
  declare_security(app, arguments.options);
  declare_trouble(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Help is an exit with success, which CLI11 reports as an exception too.
    if (e.get_exit_code() == 0) {
      (void)app.exit(e);
      return std::optional<Options>();
    }
    return usage::error_of(app, e);
  }
  return std::optional<Options>(TRY(checked(arguments)));
}

}  // namespace simulator
