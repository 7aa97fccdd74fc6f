// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/door/door.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/names.h"
#include "cmd/ipu-agent/door/hand_over.h"
#include "cmd/ipu-agent/door/user_of.h"
#include "cmd/ipu-agent/protocol/reply.h"

namespace agent {
namespace {

using namespace base::names;

// A connection whose request has not come yet.
struct Caller {
  base::Fd socket;
  uid_t uid = 0;
  Deadline until;
  std::string text = {};
};

enum class Goes { kOn, kAway };

class Door {
 public:
  Door(int listener, std::string path, int keeper, const DoorLimits& limits)
      : listener_(listener), path_(std::move(path)), keeper_(keeper), limits_(limits) {}

  Status serve() {
    for (;;) {
      std::vector<pollfd> polled = {{keeper_, 0, 0}, {listener_, POLLIN, 0}};
      for (const Caller& caller : callers_) polled.push_back({caller.socket.get(), POLLIN, 0});
      if (::poll(polled.data(), polled.size(), time_left()) < 0 && errno != EINTR)
        return Error::from_errno(errno, "wait for requests");
      if (polled[0].revents != 0) return {};
      size_t at = 2;
      for (auto caller = callers_.begin(); caller != callers_.end(); ++at) {
        const Goes goes = look_at(*caller, polled[at].revents != 0);
        caller = goes == Goes::kAway ? callers_.erase(caller) : std::next(caller);
      }
      if (polled[1].revents != 0) TRY(accept_one());
    }
  }

 private:
  // Until the first caller has had its time.
  [[nodiscard]] int time_left() const {
    return callers_.empty() ? -1 : static_cast<int>(callers_.front().until.left().count()) + 1;
  }

  // One at a time: in between, the door sees which connections have ended.
  Status accept_one() {
    base::Fd socket(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.valid()) {
      admit(std::move(socket));
      return {};
    }
    const bool is_passing = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    if (is_passing) return {};
    return Error::from_errno(errno, "accept a connection");
  }

  void admit(base::Fd socket) {
    const Result<uid_t> uid = user_of(socket.get(), path_);
    if (!uid.ok()) return;
    const auto own = std::count_if(callers_.begin(), callers_.end(),
                                   [&](const Caller& caller) { return caller.uid == uid.value(); });
    if (callers_.size() >= limits_.connections || static_cast<size_t>(own) >= limits_.of_user) {
      return answer(socket.get(),
                    Error(Code::kBusy, "ipu-agent has too many connections; try again"));
    }
    callers_.push_back({std::move(socket), uid.value(), Deadline::after(limits_.time)});
  }

  // Never waits: a socket takes more than an error before its reader has read anything.
  static void answer(int socket, const Error& error) {
    const std::string line = error_line(error);
    (void)::send(socket, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  Goes look_at(Caller& caller, bool is_ready) {
    if (is_ready) return read_from(caller);
    if (!caller.until.passed()) return Goes::kOn;
    answer(caller.socket.get(),
           Error(Code::kTimeout, str("no request came within ", limits_.time.count() / 1000,
                                     " s; end it with a newline")));
    return Goes::kAway;
  }

  Goes read_from(Caller& caller) {
    char bytes[kMaxRequest];
    const ssize_t size =
        ::recv(caller.socket.get(), bytes, sizeof bytes - caller.text.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Goes::kOn;
    if (size <= 0) return Goes::kAway;
    caller.text.append(bytes, static_cast<size_t>(size));
    const size_t end = caller.text.find('\n');
    if (end != std::string::npos) {
      const Status passed = pass_on(caller, end);
      if (!passed.ok()) answer(caller.socket.get(), passed.error());
      return Goes::kAway;
    }
    if (caller.text.size() < kMaxRequest) return Goes::kOn;
    answer(caller.socket.get(),
           Error(Code::kInvalid, str("the request is longer than ", kMaxRequest, " bytes")));
    return Goes::kAway;
  }

  Status pass_on(const Caller& caller, size_t end) {
    if (end + 1 != caller.text.size())
      return Error(Code::kInvalid, "a connection takes one request, which is one line");
    const Words words = TRY(words_of(std::string_view(caller.text).substr(0, end)));
    return hand_over(keeper_, words, caller.socket.get());
  }

  int listener_;
  std::string path_;
  int keeper_;
  DoorLimits limits_;
  std::list<Caller> callers_;  // in order of arrival
};

}  // namespace

Status serve_door(int listener, int keeper, const DoorLimits& limits) {
  std::string path = TRY(path_of(listener));
  return Door(listener, std::move(path), keeper, limits).serve();
}

}  // namespace agent
