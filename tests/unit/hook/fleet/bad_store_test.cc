// SPDX-License-Identifier: Apache-2.0
// Stores that cannot serve: each is one line that says what to do, by the deadline.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/names.h"
#include "hook/fleet/hosts.h"
#include "tests/support/etcd.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/simulator_process.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

Deadline within(int ms) { return Deadline::after(milliseconds(ms)); }

Txn put(const std::string& value) {
  Txn txn;
  txn.puts = {{"/f/a", value}};
  return txn;
}

// Returns whether a put succeeds within 40 s. While etcd elects a leader, one may be lost.
bool succeeds_in_time(Store& store) {
  const Deadline patience = within(40'000);
  while (!patience.passed()) {
    const Result<TxnResult> result = store.commit(put("1"), within(10'000));
    if (result.ok()) return true;
    EXPECT_TRUE(result.error().code() == Code::kUnavailable ||
                result.error().code() == Code::kTimeout)
        << result.error().message();
  }
  return false;
}

std::string programs() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

// A socket that listens on a free port of loopback, and never answers.
class Listener {
 public:
  explicit Listener(int flags = 0) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), generic, size), 0);
    EXPECT_EQ(::getsockname(fd_.get(), generic, &size), 0);
    EXPECT_EQ(::listen(fd_.get(), 8), 0);
    address_ = str("127.0.0.1:", ntohs(address.sin_port));
  }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] int fd() const { return fd_.get(); }
  // Returns how many clients have connected, for SOCK_NONBLOCK.
  [[nodiscard]] int count_clients() const {
    int clients = 0;
    while (base::Fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid()) ++clients;
    return clients;
  }
  void close() { fd_.reset(); }

 private:
  base::Fd fd_;
  std::string address_;
};

// Stands before a member that says how it is, and keeps every other call: it passes on what a
// client says until the second call begins.
class HalfDeafMember {
 public:
  explicit HalfDeafMember(std::string member) : member_(std::move(member)) {
    thread_ = std::thread([this] { serve(); });
  }
  HalfDeafMember(const HalfDeafMember&) = delete;
  HalfDeafMember& operator=(const HalfDeafMember&) = delete;
  ~HalfDeafMember() {
    is_over_ = true;
    thread_.join();
  }
  [[nodiscard]] const std::string& address() const { return listener_.address(); }

 private:
  struct Pair {
    base::Fd client;
    base::Fd member;
    std::string said;  // by the client
    size_t passed = 0;
  };
  void serve() {
    std::vector<Pair> pairs;
    while (!is_over_) {
      base::Fd client(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (client.valid()) pairs.push_back({std::move(client), connect_to(member_), ""});
      for (Pair& pair : pairs) pass(pair);
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  static base::Fd connect_to(const std::string& address) {
    base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::fcntl(fd.get(), F_SETFL, O_NONBLOCK), 0);
    return fd;
  }
  // Where the second HEADERS frame of HTTP/2 (RFC 9113) begins, or where TEXT ends.
  static size_t before_second_call(const std::string& text) {
    constexpr size_t kPreface = 24;
    constexpr size_t kHead = 9;
    constexpr char kHeaders = 1;
    size_t at = kPreface;
    for (int calls = 0; at + kHead <= text.size();) {
      if (text[at + 3] == kHeaders && ++calls == 2) return at;
      const auto byte = [&](size_t i) { return size_t{static_cast<uint8_t>(text[at + i])}; };
      at += kHead + (byte(0) << 16 | byte(1) << 8 | byte(2));
    }
    return text.size();
  }
  static void pass(Pair& pair) {
    char buffer[4096];
    ssize_t got = ::recv(pair.client.get(), buffer, sizeof buffer, 0);
    if (got > 0) pair.said.append(buffer, static_cast<size_t>(got));
    const size_t end = before_second_call(pair.said);
    if (end > pair.passed) {
      (void)::send(pair.member.get(), pair.said.data() + pair.passed, end - pair.passed,
                   MSG_NOSIGNAL);
      pair.passed = end;
    }
    got = ::recv(pair.member.get(), buffer, sizeof buffer, 0);
    if (got > 0) (void)::send(pair.client.get(), buffer, static_cast<size_t>(got), MSG_NOSIGNAL);
  }

  std::string member_;
  Listener listener_{SOCK_NONBLOCK};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST(BadStoreTest, SaysThatNobodyListens) {
  Listener gone;
  gone.close();
  config::FleetConfig fleet;
  fleet.endpoints = {gone.address()};
  EXPECT_TRUE(test::fails(test::Etcd::store(fleet)->list("/f/", within(2000)), Code::kUnavailable,
                          "Connection refused"));
}

TEST(BadStoreTest, EndsWithASilentEndpoint) {
  const Listener silent;
  config::FleetConfig fleet;
  fleet.endpoints = {silent.address()};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(test::fails(test::Etcd::store(fleet)->list("/f/", within(3000)), Code::kTimeout,
                          silent.address()));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

// Answers each connection with TEXT, whatever it says.
class Talker {
 public:
  explicit Talker(std::string text) : text_(std::move(text)), thread_([this] { serve(); }) {}
  Talker(const Talker&) = delete;
  Talker& operator=(const Talker&) = delete;
  ~Talker() {
    is_over_ = true;
    thread_.join();
  }
  [[nodiscard]] const std::string& address() const { return listener_.address(); }

 private:
  void serve() {
    while (!is_over_) {
      const base::Fd client(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.valid()) {
        EXPECT_EQ(::send(client.get(), text_.data(), text_.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text_.size()));
      }
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  const std::string text_;
  const Listener listener_{SOCK_NONBLOCK};
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

TEST(BadStoreTest, SaysThatAnEndpointIsNoEtcd) {
  const auto refusal_of = [](const std::string& endpoint) {
    config::FleetConfig fleet;
    fleet.endpoints = {endpoint};
    const auto begin = std::chrono::steady_clock::now();
    const Result<Listing> listing = test::Etcd::store(fleet)->list("/f/", within(5000));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
    EXPECT_FALSE(listing.ok());
    const std::string said = listing.ok() ? "" : listing.error().message();
    EXPECT_NE(said.find(endpoint), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    return said;
  };
  test::SimulatorProcess grpc(programs() + "/vipu-simulator",
                              {"--pod", "pod16", "--listen", "127.0.0.1:0"});
  EXPECT_NE(refusal_of(grpc.wait_until_ready()).find("it is no etcd with API v3"),
            std::string::npos);
  const Talker http("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  EXPECT_NE(refusal_of(http.address()).find("check 'endpoints'"), std::string::npos);
  const Talker garbage(std::string("\x1b[31m\0\xff\n\r", 9));
  EXPECT_EQ(refusal_of(garbage.address()).find('\x1b'), std::string::npos);
}

TEST(BadStoreTest, SaysThatAProgramIsAbsent) {
  config::FleetConfig fleet;
  fleet.endpoints = {"127.0.0.1:1"};
  const auto store = make_process_store({"/nonexistent/ipu-fleet-client", fleet});
  EXPECT_TRUE(test::fails(store->list("/f/", within(1000)), Code::kInternal, "ipu-fleet-client"));
}

class BadEtcdTest : public testing::Test {
 protected:
  void SetUp() override { REQUIRES_ETCD(); }
};

TEST_F(BadEtcdTest, GoesOnWithAnotherMemberAndFailsWithoutAQuorum) {
  test::Etcd etcd({3});
  ASSERT_TRUE(etcd.wait_until_ready());
  const auto store = etcd.store();
  // A stalled member takes connections, and says nothing.
  etcd.signal(0, SIGSTOP);
  EXPECT_TRUE(succeeds_in_time(*store));
  const Result<std::vector<Member>> members = store->members(within(6'000));
  ASSERT_TRUE(test::succeeds(members));
  ASSERT_EQ(members.value().size(), 3U);
  EXPECT_NE(members.value()[0].trouble, "");
  etcd.signal(0, SIGCONT);
  etcd.kill(1);
  EXPECT_TRUE(succeeds_in_time(*store));
  etcd.kill(2);
  base::sleep_for(milliseconds(2500), within(5000));
  const Result<TxnResult> alone = store->commit(put("3"), within(4'000));
  ASSERT_FALSE(alone.ok());
  EXPECT_TRUE(alone.error().code() == Code::kUnavailable || alone.error().code() == Code::kTimeout)
      << alone.error().message();
}

TEST_F(BadEtcdTest, BeginsWithTheMemberThatServedLast) {
  test::Etcd etcd({1});
  ASSERT_TRUE(etcd.wait_until_ready());
  const Listener silent(SOCK_NONBLOCK);
  config::FleetConfig fleet = etcd.fleet();
  fleet.endpoints.insert(fleet.endpoints.begin(), silent.address());
  const auto store = test::Etcd::store(fleet);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(test::succeeds(store->list("/f/", within(15'000))));
  EXPECT_EQ(silent.count_clients(), 1);
  // How the members are is told in the order of the configuration, and changes nothing.
  const Result<std::vector<Member>> members = store->members(within(10'000));
  ASSERT_TRUE(test::succeeds(members));
  ASSERT_EQ(members.value().size(), 2U);
  EXPECT_EQ(members.value()[0].address, silent.address());
  EXPECT_EQ(silent.count_clients(), 1);
  EXPECT_TRUE(test::succeeds(store->list("/f/", within(15'000))));
  EXPECT_EQ(silent.count_clients(), 0);
}

TEST_F(BadEtcdTest, ComesBackToTheFirstMemberIfTheNextOneIsGone) {
  test::Etcd first({1});
  test::Etcd second({1});
  ASSERT_TRUE(first.wait_until_ready());
  ASSERT_TRUE(second.wait_until_ready());
  EXPECT_TRUE(test::succeeds(second.store()->list("/f/", within(15'000))));
  second.kill(0);
  config::FleetConfig fleet = first.fleet();
  fleet.endpoints.push_back(second.fleet().endpoints[0]);
  EXPECT_TRUE(test::succeeds(test::Etcd::store(fleet)->list("/f/", within(15'000))));
}

TEST_F(BadEtcdTest, GoesOnIfAMemberKeepsAllCallsButOne) {
  test::Etcd etcd({3});
  ASSERT_TRUE(etcd.wait_until_ready());
  const HalfDeafMember first(etcd.fleet().endpoints[0]);
  config::FleetConfig fleet = etcd.fleet();
  fleet.endpoints[0] = first.address();
  const auto store = test::Etcd::store(fleet);
  EXPECT_TRUE(test::succeeds(store->commit(put("1"), within(6'000))));
  const Result<Listing> listing = store->list("/f/", within(6'000));
  ASSERT_TRUE(test::succeeds(listing));
  EXPECT_EQ(listing.value().keys.size(), 1U);
}

TEST_F(BadEtcdTest, SaysThatMembersAreOfTwoClusters) {
  test::Etcd one({1});
  test::Etcd other({1});
  ASSERT_TRUE(one.wait_until_ready());
  ASSERT_TRUE(other.wait_until_ready());
  config::FleetConfig fleet = one.fleet();
  fleet.endpoints.push_back(other.fleet().endpoints[0]);
  const Result<std::vector<Member>> members = test::Etcd::store(fleet)->members(within(5'000));
  ASSERT_TRUE(test::succeeds(members));
  EXPECT_EQ(members.value()[0].trouble, "");
  EXPECT_NE(members.value()[1].trouble.find("another cluster"), std::string::npos);
}

TEST_F(BadEtcdTest, SaysThatTheStoreIsFull) {
  test::Etcd etcd({1, false, false, "1048576"});
  ASSERT_TRUE(etcd.wait_until_ready());
  const auto store = etcd.store();
  Result<TxnResult> result = store->commit(put("0"), within(5'000));
  for (int i = 0; i < 200 && result.ok(); ++i) {
    result = store->commit(put(std::string(60'000, 'x')), within(5'000));
  }
  EXPECT_TRUE(test::fails(result, Code::kBusy, "etcdctl alarm disarm"));
  EXPECT_TRUE(test::succeeds(store->list("/f/", within(5'000))));
  const Result<std::vector<Member>> members = store->members(within(5'000));
  ASSERT_TRUE(test::succeeds(members));
  EXPECT_NE(members.value()[0].trouble.find("NOSPACE"), std::string::npos);
}

TEST_F(BadEtcdTest, TrustsTheConfiguredAuthorityAlone) {
  test::Etcd etcd({1, true, true});
  ASSERT_TRUE(etcd.wait_until_ready());
  EXPECT_TRUE(test::succeeds(etcd.store()->list("/f/", within(5'000))));
  const test::Authority another;
  config::FleetConfig fleet = etcd.fleet();
  fleet.ca = another.certificate("ca");
  EXPECT_TRUE(test::fails(test::Etcd::store(fleet)->list("/f/", within(5'000)), Code::kUnavailable,
                          str("not signed by the CA in ", quote(fleet.ca))));
  fleet.ca.clear();
  fleet.certificate.clear();
  fleet.key.clear();
  EXPECT_TRUE(
      test::fails(test::Etcd::store(fleet)->list("/f/", within(5'000)), Code::kUnavailable, "TLS"));
}

TEST_F(BadEtcdTest, SaysWhatIsWrongWithTheUser) {
  test::Etcd etcd({1, true, true});
  ASSERT_TRUE(etcd.wait_until_ready());
  EXPECT_TRUE(test::fails(etcd.store()->list("/other/", within(5'000)), Code::kDenied, "prefix"));
  // What is around the prefix is not the user's to see, and is not needed.
  EXPECT_TRUE(test::succeeds(join_fleet(*etcd.store(), "/f/", within(10'000))));
  config::FleetConfig fleet = etcd.fleet();
  std::ofstream(fleet.password_file) << "another secret\n";
  const Result<Listing> refused = etcd.store()->list("/f/", within(5'000));
  EXPECT_TRUE(test::fails(refused, Code::kDenied, "password_file"));
  EXPECT_EQ(refused.error().message().find("another secret"), std::string::npos);
  ASSERT_EQ(::chmod(fleet.password_file.c_str(), 0644), 0);
  EXPECT_TRUE(test::fails(etcd.store()->list("/f/", within(5'000)), Code::kDenied, "chmod 0600"));
}

}  // namespace
}  // namespace hook::fleet
