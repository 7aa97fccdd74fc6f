// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/keeper.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/names.h"
#include "base/spawn.h"
#include "base/text.h"
#include "base/users.h"
#include "cmd/ipu-agent/door/hand_over.h"
#include "cmd/ipu-agent/door/rate.h"
#include "cmd/ipu-agent/door/user_of.h"
#include "cmd/ipu-agent/protocol/reply.h"
#include "cmd/ipu-agent/time_keeping.h"
#include "hook/config/paths.h"

namespace agent {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr milliseconds kReadTime = std::chrono::seconds(30);
// A reservation waits for up to a day, and then for its partition.
constexpr milliseconds kChangeTime = std::chrono::hours(25);

// Returns whether WORDS, which are checked, have this as their second.
bool is_second(const Words& words, std::string_view word) {
  return words.size() > 1 && words[1] == word;
}

bool changes_reservations(const Words& words) {
  return words[0] == "reserve" || (words[0] == "reservation" && !is_second(words, "list"));
}

milliseconds time_of(const Words& words) {
  return changes_reservations(words) ? kChangeTime : kReadTime;
}

// What changes something leaves events in the ledger, which everybody shares.
bool changes_ledger(const Words& words) {
  return changes_reservations(words) || (words[0] == "queue" && is_second(words, "cancel"));
}

// A process of ipuctl that answers a user. It writes the answer to the user's connection itself.
struct Request {
  pid_t child = 0;
  uid_t uid = 0;
  base::Fd user;
  Deadline until;
  bool is_told = false;  // to give up
};

class Keeper {
 public:
  Keeper(int door, std::string path, base::Fd signals, TimeKeeping time, const KeeperLimits& limits)
      : door_(door),
        path_(std::move(path)),
        signals_(std::move(signals)),
        time_(std::move(time)),
        limits_(limits) {}

  Status serve() {
    for (;;) {
      time_.work();
      std::vector<pollfd> polled = {{signals_.get(), POLLIN, 0}, {door_, POLLIN, 0}};
      for (const int fd : time_.fds()) polled.push_back({fd, POLLIN, 0});
      const size_t first = polled.size();
      for (const Request& request : requests_) {
        // A connection that has gone is not looked at again: it would be readable for ever.
        polled.push_back({request.is_told ? -1 : request.user.get(), 0, 0});
      }
      const auto left = static_cast<int>(time_.left().count()) + 1;
      if (::poll(polled.data(), polled.size(), left) < 0 && errno != EINTR)
        return Error::from_errno(errno, "wait for requests");
      size_t at = first;
      for (Request& request : requests_) look_at(request, polled[at++].revents != 0);
      if (polled[0].revents != 0 && TRY(read_signal()) == Next::kEnd) return {};
      if (polled[1].revents != 0) TRY(take_requests());
    }
  }

 private:
  enum class Next { kGoOn, kEnd };

  Result<Next> read_signal() {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) < 0 && errno != EAGAIN)
      return Error::from_errno(errno, "read a signal");
    if (info.ssi_signo != SIGCHLD && info.ssi_signo != 0) return Next::kEnd;
    pid_t child = 0;
    while ((child = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
      time_.ended(child);
      requests_.remove_if([&](const Request& request) { return request.child == child; });
    }
    return Next::kGoOn;
  }

  // The end of a connection is Ctrl-C for its request.
  static void look_at(Request& request, bool is_gone) {
    if (request.until.passed()) (void)::kill(request.child, SIGKILL);
    if (!is_gone || request.is_told) return;
    request.is_told = true;
    (void)::kill(request.child, SIGINT);
  }

  Status take_requests() {
    Result<HandedOver> taken = take_over(door_);
    if (!taken.ok() && taken.error().code() == Code::kBusy) return {};
    HandedOver request = TRY(std::move(taken));
    const Status begun = begin(request);
    if (begun.ok()) return {};
    const std::string line = error_line(begun.error());
    (void)::send(request.user.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return {};
  }

  Status begin(HandedOver& request) {
    TRY(check_words(request.words));
    const uid_t uid = TRY(user_of(request.user.get(), path_));
    // Whoever is lent uids can be each of them, with the limits of each.
    if (base::is_lent(uid)) {
      return Error(Code::kDenied, str("uid ", uid,
                                      " is lent to a user of this host (/etc/subuid);"
                                      " run ipuctl outside of the user namespace"));
    }
    if (!may_ask(uid, request.words)) {
      return Error(Code::kBusy, "you ask ipu-agent too often; try again in a minute");
    }
    const auto own = std::count_if(requests_.begin(), requests_.end(),
                                   [&](const Request& other) { return other.uid == uid; });
    if (requests_.size() >= limits_.requests || static_cast<size_t>(own) >= limits_.of_user)
      return Error(Code::kBusy, "ipu-agent has too many requests to do; try again later");
    std::vector<std::string> args = {"ipuctl", "--for-user", str(uid)};
    args.insert(args.end(), request.words.begin(), request.words.end());
    const pid_t child = TRY(base::spawn(hook::config::control_program(), args, request.user.get()));
    const Deadline until = Deadline::after(time_of(request.words));
    requests_.push_back({child, uid, std::move(request.user), until});
    return {};
  }

  // Each user has so many requests, and gets one back after each time.
  bool may_ask(uid_t uid, const std::vector<std::string>& words) {
    if (uid == 0) return true;
    const bool changes = changes_ledger(words);
    auto& rates = changes ? changing_ : reading_;
    constexpr size_t kMostUsers = 1024;
    if (rates.size() >= kMostUsers)
      std::erase_if(rates, [](const auto& rate) { return rate.second.is_full(); });
    if (rates.size() >= kMostUsers && !rates.contains(uid)) return false;
    return rates
        .try_emplace(
            uid, changes ? Rate{20, std::chrono::seconds(6)} : Rate{60, std::chrono::seconds(1)})
        .first->second.take();
  }

  int door_;
  std::string path_;
  std::map<uid_t, Rate> reading_, changing_;
  base::Fd signals_;
  TimeKeeping time_;
  KeeperLimits limits_;
  std::list<Request> requests_;
};

}  // namespace

Status keep(int door, const std::string& path, const KeeperLimits& limits) {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&handled, signal);
  base::Fd signals(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return Error::from_errno(errno, "create a signal descriptor");
  TimeKeeping time = TRY(TimeKeeping::open());
  return Keeper(door, path, std::move(signals), std::move(time), limits).serve();
}

}  // namespace agent
