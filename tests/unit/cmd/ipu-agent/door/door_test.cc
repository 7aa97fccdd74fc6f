// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/door/door.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "cmd/ipu-agent/door/hand_over.h"
#include "cmd/ipu-agent/door/user_of.h"
#include "cmd/ipu-agent/protocol/reply.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace agent {
namespace {

using base::Code;
using base::Fd;
using std::chrono::milliseconds;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{AF_UNIX, {}};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Fd listen_at(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_of(path);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.get(), 64), 0);
  return socket;
}

Fd connect_to(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  return socket;
}

void send(const Fd& user, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::send(user.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (size <= 0) return;  // the door has closed the connection
    text.remove_prefix(static_cast<size_t>(size));
  }
}

// A door in a process of its own, with the test at the other end.
class DoorTest : public testing::Test {
 protected:
  void open(const DoorLimits& limits) {
    listener_ = listen_at(path_);
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    keeper_.reset(ends[0]);
    Fd there(ends[1]);
    door_ = ::fork();
    if (door_ == 0) {
      keeper_.reset();
      (void)::alarm(60);
      ::_exit(serve_door(listener_.get(), there.get(), limits).ok() ? 0 : 1);
    }
  }
  void TearDown() override {
    keeper_.reset();
    int status = -1;
    EXPECT_EQ(::waitpid(door_, &status, 0), door_);
    EXPECT_EQ(status, 0) << "the door ends with its keeper";
  }

  static bool is_readable(int fd, int time_ms) {
    pollfd polled{fd, POLLIN, 0};
    return ::poll(&polled, 1, time_ms) == 1;
  }
  base::Result<HandedOver> next_request() {
    EXPECT_TRUE(is_readable(keeper_.get(), 10'000));
    return take_over(keeper_.get());
  }
  // The error with which the door ends a connection.
  static std::string refusal(const Fd& user) {
    std::string text;
    char bytes[4096];
    ssize_t size = 0;
    while (is_readable(user.get(), 10'000) && (size = ::read(user.get(), bytes, sizeof bytes)) > 0)
      text.append(bytes, static_cast<size_t>(size));
    const base::Result<Reply> reply = parse_reply(base::trim(text));
    if (!reply.ok() || reply.value().errors.size() != 1 || reply.value().exit == 0) return text;
    return reply.value().errors.front();
  }
  bool is_served() {
    const Fd user = connect_to(path_);
    send(user, "{\"command\": \"ps\"}\n");
    const auto request = next_request();
    return request.ok() && request.value().words == Words{"ps"};
  }

  const test::TempDir dir_;
  const std::string path_ = dir_ / "s";
  Fd listener_;
  Fd keeper_;
  pid_t door_ = -1;
};

TEST_F(DoorTest, PassesOnARequestWithItsConnection) {
  open({});
  const Fd user = connect_to(path_);
  send(user, R"({"command": "reserve", )");
  EXPECT_FALSE(is_readable(keeper_.get(), 50));
  send(user, "\"name\": \"night\", \"ipus\": \"4\"}\n");
  const auto request = next_request();
  ASSERT_TRUE(test::succeeds(request));
  EXPECT_EQ(request.value().words, (Words{"reserve", "night", "--ipus=4"}));
  EXPECT_EQ(user_of(request.value().user.get(), path_).take(), ::geteuid());
  send(request.value().user, "the answer");
  ASSERT_TRUE(is_readable(user.get(), 10'000));
  char bytes[64];
  EXPECT_EQ(::read(user.get(), bytes, sizeof bytes), 10);
}

TEST_F(DoorTest, RefusesWhatItDoesNotUnderstand) {
  open({});
  const std::string whole = "{\"command\": \"ps\"}\n";
  std::string long_list(4000, '[');
  long_list += '\n';
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"\n", "the request"},
           {"nonsense\n", "the request"},
           {std::string("\0\n", 2), "the request"},
           {"{\"command\": \"gc\"}\n", "does not know the command"},
           {whole + whole, "one request"},
           {std::string(4096, ' '), "longer than 4096 bytes"},
           {std::string(1'000'000, '['), "longer than 4096 bytes"},
           {long_list, "the request"},
       }) {
    const Fd user = connect_to(path_);
    send(user, text);
    const std::string said = refusal(user);
    EXPECT_NE(said.find(says), std::string::npos) << said;
  }
  EXPECT_FALSE(is_readable(keeper_.get(), 0));
  EXPECT_TRUE(is_served());
}

TEST_F(DoorTest, WaitsForNobody) {
  open({128, 16, milliseconds(200)});
  const Fd silent = connect_to(path_);
  const Fd slow = connect_to(path_);
  send(slow, "{");
  const Fd half = connect_to(path_);
  ASSERT_EQ(::shutdown(half.get(), SHUT_WR), 0);
  EXPECT_TRUE(is_served());
  EXPECT_NE(refusal(silent).find("no request came within"), std::string::npos);
  EXPECT_NE(refusal(slow).find("no request came within"), std::string::npos);
  EXPECT_EQ(refusal(half), "");
}

TEST_F(DoorTest, LimitsTheConnectionsOfAUser) {
  open({128, 3, milliseconds(60'000)});
  std::vector<Fd> crowd;
  for (int i = 0; i < 3; ++i) crowd.push_back(connect_to(path_));
  const Fd more = connect_to(path_);
  EXPECT_NE(refusal(more).find("too many connections"), std::string::npos);
  crowd.pop_back();
  // The door sees the end of a connection before it accepts a new one.
  EXPECT_TRUE(is_served());
}

TEST_F(DoorTest, RefusesRequestsWhileTheKeeperTakesNone) {
  open({128, 128, milliseconds(60'000)});
  std::vector<Fd> users;
  std::string said;
  for (int i = 0; i < 1000 && said.empty(); ++i) {
    users.push_back(connect_to(path_));
    send(users.back(), "{\"command\": \"ps\"}\n");
    if (is_readable(users.back().get(), i < 5 ? 0 : 20)) said = refusal(users.back());
  }
  EXPECT_NE(said.find("too much to do"), std::string::npos) << said << users.size();
}

TEST(UserOf, IsToldOfConnectionsToTheSocketOfTheAgentAlone) {
  const test::TempDir dir;
  const std::string path = dir / "s";
  const Fd listener = listen_at(path);
  const Fd other = listen_at(dir / "other");
  const Fd user = connect_to(path);
  const Fd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_EQ(user_of(accepted.get(), path).take(), ::geteuid());
  const Fd of_other = connect_to(dir / "other");
  const Fd accepted_there(::accept4(other.get(), nullptr, nullptr, SOCK_CLOEXEC));
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Fd one(ends[0]);
  const Fd two(ends[1]);
  const Fd file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  // For the first two, the kernel names the user who listens.
  for (const Fd* fd : {&listener, &user, &accepted_there, &of_other, &one, &file})
    EXPECT_FALSE(user_of(fd->get(), path).ok());
}

TEST(HandOver, TakesOnlyWhatItPassesOn) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  Fd here(ends[0]);
  const Fd there(ends[1]);
  EXPECT_TRUE(test::fails(take_over(there.get()), Code::kBusy, ""));
  ASSERT_EQ(::send(here.get(), "ps", 2, 0), 2);
  EXPECT_TRUE(test::fails(take_over(there.get()), Code::kInvalid, ""));
  const Fd file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(test::succeeds(hand_over(here.get(), {"pool", "list"}, file.get())));
  const auto taken = take_over(there.get());
  ASSERT_TRUE(test::succeeds(taken));
  EXPECT_EQ(taken.value().words, (Words{"pool", "list"}));
  here.reset();
  EXPECT_TRUE(test::fails(take_over(there.get()), Code::kUnavailable, "has ended"));
}

}  // namespace
}  // namespace agent
