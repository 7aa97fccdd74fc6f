// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/session/run.h"

#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/confine.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/ipu-vipu-client/session/calls.h"
#include "cmd/ipu-vipu-client/session/resolve.h"
#include "vipu/wire.h"

namespace client {
namespace {

using namespace base::names;
using vipu::wire::Call;
using vipu::wire::Done;
using vipu::wire::reply_text;
using vipu::wire::Request;

constexpr uint16_t kDnsPort = 53;
// What a call needs, in bytes.
constexpr size_t kHeap = 256 << 10;

Result<Done> done(Status status) {
  if (!status.ok()) return std::move(status).error();
  return Done{};
}

// What it does with the network, as the argument says (wire.h).
Result<base::Network> parse_role(int argc, const char* const* argv) {
  if (argc == 2 && argv[1] == vipu::wire::kAskForConnections) return base::Network{false};
  if (argc == 2 && argv[1] == vipu::wire::kAskDns) return base::Network{true, kDnsPort};
  return Error(Code::kInvalid, "the argument says what it does with the network");
}

std::string answer(const Request& request, transport::MakeFilter make_filter) {
  Connection connection(request.access, request.timeout, make_filter);
  const std::string& id = request.partition.id;
  switch (request.call) {
    case Call::kCreate:
      return reply_text(create(connection, request.partition));
    case Call::kSubmit:
      return reply_text(done(submit(connection, request.partition)));
    case Call::kWait:
      return reply_text(wait(connection, id));
    case Call::kList:
      return reply_text(list(connection));
    case Call::kStatus:
      return reply_text(status(connection, id));
    case Call::kConfig:
      return reply_text(config(connection, id, request.gcd));
    case Call::kReset:
      return reply_text(done(reset(connection, id, request.relocate)));
    case Call::kRemove:
      return reply_text(remove(connection, id, request.force));
    case Call::kSurvey:
      return reply_text(survey(connection));
    case Call::kAttributes:
      return reply_text(attributes(connection, request.agents));
    case Call::kResolve:
      return reply_text(resolve(request.access.address, connection.deadline()));
    case Call::kVersion:
      break;
  }
  return reply_text(version(connection));
}

// Confines the program before it reads the first byte. If that fails, it reads nothing.
Result<Request> read_request(const base::Network& network) {
  TRY(base::confine({}, network));
  const std::string text =
      TRY(base::read_all(STDIN_FILENO, vipu::wire::kMaxRequest, "standard input"));
  return vipu::wire::parse_request(text);
}

}  // namespace

int run(int argc, const char* const* argv, transport::MakeFilter make_filter) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    const std::string_view path = argv[0];
    const std::string name(path.substr(path.rfind('/') + 1));
    return std::printf("%s %s\n", name.c_str(), base::product_version().c_str()) < 0;
  }
  base::map_memory(kHeap);
  const Result<base::Network> network = parse_role(argc, argv);
  if (!network.ok()) return 2;
  const Result<Request> request = read_request(network.value());
  const std::string reply = request.ok() ? answer(request.value(), make_filter)
                                         : reply_text(Result<std::string>(request.error()));
  return base::write_all(STDOUT_FILENO, reply, "standard output").ok() ? 0 : 1;
}

}  // namespace client
