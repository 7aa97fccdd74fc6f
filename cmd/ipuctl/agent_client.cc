// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/agent_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fd.h"
#include "base/fs.h"
#include "base/names.h"
#include "cmd/ipu-agent/protocol/reply.h"
#include "cmd/ipu-agent/protocol/request.h"
#include "hook/config/paths.h"

namespace ipuctl {
namespace {

using namespace base::names;

// "reservation end"
std::string words_of(const CLI::App& app, const CLI::App*& leaf) {
  std::string words;
  for (leaf = &app; !leaf->get_subcommands().empty();) {
    leaf = leaf->get_subcommands().front();
    words += str(words.empty() ? "" : " ", leaf->get_name());
  }
  return words;
}

// The name of an option as requests have it: "output", or "name" of the argument NAME.
std::string key_of(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return option.get_lnames().front();
  std::string name = option.get_name();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

agent::Options options_of(const CLI::App& leaf) {
  agent::Options options;
  for (const CLI::Option* option : leaf.get_options()) {
    // This process repeats what it asks.
    if (option->count() > 0 && key_of(*option) != "watch")
      options[key_of(*option)] = option->results().back();
  }
  return options;
}

Error cannot_connect(int err, const std::string& path) {
  if (err == EACCES) {
    return {Code::kDenied,
            str("you may not ask ipu-agent, which answers users without root: ask the operator to"
                " add you to the group 'ipu', and log in again; or run ipuctl as root")};
  }
  const bool is_absent = err == ENOENT || err == ECONNREFUSED;
  if (!is_absent) return Error::from_errno(err, str("connect to ipu-agent at ", quote(path)));
  return {Code::kDenied,
          "ipu-agent, which answers users without root, does not run on this host: ask the operator"
          " to run 'systemctl enable --now ipu-agent.socket ipu-agent.service', or run ipuctl as"
          " root"};
}

// Connects SOCKET to the agent. Returns false with errno on failure.
bool connect_to(int socket, const std::string& path) {
  sockaddr_un address{AF_UNIX, {}};
  errno = ENAMETOOLONG;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Result<base::Fd> connect_to_agent() {
  const std::string path = hook::config::agent_socket();
  base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return Error::from_errno(errno, "make a socket");
  if (!connect_to(socket.get(), path)) return cannot_connect(errno, path);
  return socket;
}

// The lines of an answer.
class Lines {
 public:
  explicit Lines(int socket) : socket_(socket) {}
  Result<std::string> next() {
    size_t end = std::string::npos;
    while ((end = text_.find('\n', looked_)) == std::string::npos) {
      looked_ = text_.size();
      TRY(read_more());
    }
    std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    looked_ = 0;
    return line;
  }

 private:
  Status read_more() {
    char bytes[65536];
    const ssize_t size = ::recv(socket_, bytes, sizeof bytes, 0);
    if (size < 0 && errno == EINTR) return {};
    if (size < 0) return Error::from_errno(errno, "read the answer of ipu-agent");
    if (size == 0)
      return Error(Code::kUnavailable, "ipu-agent ended before it had answered; try again");
    text_.append(bytes, static_cast<size_t>(size));
    if (text_.size() <= agent::kMaxReply) return {};
    return Error(Code::kInternal, "the answer of ipu-agent is too long");
  }
  int socket_;
  std::string text_;
  size_t looked_ = 0;
};

void show_progress(const std::string& line) {
  constexpr size_t kLongest = 2000;
  (void)std::fprintf(stderr, "%s\n", base::one_line(line, kLongest).c_str());
}

Result<Outcome> ask_agent(const std::string& request) {
  const base::Fd socket = TRY(connect_to_agent());
  // If it is refused, the answer says why.
  (void)::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
  Lines lines(socket.get());
  for (;;) {
    const std::string line = TRY(lines.next());
    agent::Reply reply = TRY(agent::parse_reply(line));
    if (!reply.progress.empty()) {
      show_progress(reply.progress);
      continue;
    }
    Outcome outcome{std::move(reply.text)};
    for (std::string& error : reply.errors)
      outcome.obstacles.emplace_back(agent::code_of(reply.exit), std::move(error));
    return outcome;
  }
}

}  // namespace

std::optional<Command> command_by_agent(const CLI::App& app) {
  const CLI::App* leaf = nullptr;
  const std::string command = words_of(app, leaf);
  const agent::Options options = options_of(*leaf);
  if (!agent::serves(command, options)) return std::nullopt;
  return [request = agent::request_line(command, options)] { return ask_agent(request); };
}

// An empty line is refused at once, without an ipuctl.
AgentState find_agent(std::chrono::milliseconds time) {
  const base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connect_to(socket.get(), hook::config::agent_socket()))
    return errno == ECONNREFUSED || errno == EAGAIN ? AgentState::kSilent : AgentState::kAbsent;
  (void)::send(socket.get(), "\n", 1, MSG_NOSIGNAL);
  pollfd polled{socket.get(), POLLIN, 0};
  char byte = 0;
  const bool answers = ::poll(&polled, 1, static_cast<int>(time.count())) == 1 &&
                       ::recv(socket.get(), &byte, 1, 0) == 1;
  return answers ? AgentState::kAnswers : AgentState::kSilent;
}

}  // namespace ipuctl
