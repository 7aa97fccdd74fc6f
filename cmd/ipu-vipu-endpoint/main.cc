// SPDX-License-Identifier: Apache-2.0
// ipu-vipu-endpoint answers, inside one container's network namespace, what a V-IPU controller
// would answer about the container's own partition. It is started by base::start_resident() with
//   0  the answers (vipu/answers.h)     1  a socket on which it says that it is ready
//   3  a TCP socket that listens        4  a pidfd of the container's first process
// It ends with that process. It runs without privileges, opens no file and makes no socket. With
// --version it only says its name and version.
#include <fcntl.h>
#include <grpc/support/log.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/confine.h"
#include "base/fd.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/resident.h"
#include "base/version.h"
#include "cmd/ipu-vipu-endpoint/service.h"

namespace endpoint {
namespace {

using namespace base::names;
using base::Fd;

constexpr int kReport = 1;
constexpr int kListener = base::kFirstGiven;
constexpr int kContainer = base::kFirstGiven + 1;
constexpr size_t kMaxConnections = 16;
constexpr int kPauseMs = 100;

base::Limits limits() {
  base::Limits limits;
  if (limits.data != UINT64_MAX) limits.data = uint64_t{512} << 20;
  return limits;
}

// Confines the program before it reads the first byte.
Result<Server> prepare() {
  TRY(base::confine(limits(), {false, 0, base::Service::kAccepts}));
  const std::string text = TRY(base::read_all(STDIN_FILENO, vipu::kMaxAnswers, "the answers"));
  vipu::Answers answers = TRY(vipu::parse_answers(text));
  return Server::start(std::move(answers));
}

// Says "ready", or why not, to the starter.
void report(std::string_view text) {
  (void)::send(kReport, text.data(), text.size(), MSG_NOSIGNAL);
  (void)::close(kReport);
}

// Accepts a connection. Keeps a copy of its descriptor: when gRPC closes the connection, it shuts
// it down, which the copy shows.
void accept_one(Server& server, std::vector<Fd>& connections) {
  Fd connection(::accept4(kListener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection.valid()) {
    // Not at once again: the reason, such as too many descriptors, takes a while to pass.
    (void)::poll(nullptr, 0, kPauseMs);
    return;
  }
  Fd copy(::fcntl(connection.get(), F_DUPFD_CLOEXEC, kContainer + 1));
  if (!copy.valid()) return;
  connections.push_back(std::move(copy));
  server.serve(connection.release());
}

// Waits for something to happen; returns whether the container's first process still runs.
bool wait(const std::vector<Fd>& connections, std::vector<pollfd>& waiting) {
  waiting.clear();
  waiting.push_back({kContainer, POLLIN, 0});
  // With all places taken, others wait in the queue of the socket.
  const bool is_full = connections.size() >= kMaxConnections;
  waiting.push_back({is_full ? -1 : kListener, POLLIN, 0});
  for (const Fd& connection : connections) waiting.push_back({connection.get(), POLLRDHUP, 0});
  (void)::poll(waiting.data(), waiting.size(), -1);
  return waiting[0].revents == 0;
}

void serve(Server& server) {
  std::vector<Fd> connections;
  std::vector<pollfd> waiting;
  while (wait(connections, waiting)) {
    const auto has_ended = [&](const Fd& connection) {
      return std::any_of(waiting.begin() + 2, waiting.end(), [&](const pollfd& one) {
        return one.fd == connection.get() && one.revents != 0;
      });
    };
    connections.erase(std::remove_if(connections.begin(), connections.end(), has_ended),
                      connections.end());
    if (waiting[1].revents != 0) accept_one(server, connections);
  }
}

int run(int argc, const char* const* argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    return std::printf("ipu-vipu-endpoint %s\n", base::product_version().c_str()) < 0;
  }
  gpr_set_log_function([](gpr_log_func_args*) {});
  Result<Server> server = prepare();
  report(server.ok() ? base::kReady : server.error().message());
  if (!server.ok()) return 1;
  serve(server.value());
  // Without the destructors of gRPC's threads, which may wait for a client.
  ::_exit(0);
}

}  // namespace
}  // namespace endpoint

int main(int argc, char** argv) { return endpoint::run(argc, argv); }
