// SPDX-License-Identifier: Apache-2.0
#include "vipu/dial.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "vipu/types.h"

namespace vipu {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

// Listens on a free port of one address of the loopback interface.
class Listener {
 public:
  explicit Listener(const char* host, uint16_t port = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = ::htons(port);
    EXPECT_EQ(::inet_pton(AF_INET, host, &address.sin_addr), 1);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), generic, size), 0);
    EXPECT_EQ(::listen(fd_.get(), 0), 0);
    EXPECT_EQ(::getsockname(fd_.get(), generic, &size), 0);
    port_ = ::ntohs(address.sin_port);
  }
  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] bool has_caller() const {
    return base::Fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid();
  }

 private:
  base::Fd fd_;
  uint16_t port_ = 0;
};

Deadline soon() { return Deadline::after(milliseconds(10'000)); }

// A dialer to the addresses that a name has.
Dialer with_hosts(const std::vector<std::string>& hosts, uint16_t port) {
  return {str("vipu.example:", port), [hosts](const Deadline&) { return hosts; }};
}

Dialer to_address(const std::string& address) {
  return {address, [](const Deadline&) -> Result<std::vector<std::string>> {
            return Error(Code::kInternal, "an address was looked up");
          }};
}

// Fills the queue of LISTENER, so that it answers nobody any more.
std::vector<base::Answer> fill(const Listener& listener) {
  std::vector<base::Answer> answers;
  do {
    answers.push_back(to_address(str("127.0.0.1:", listener.port())).answer("100", soon()));
  } while (answers.back().fd.valid() && answers.size() < 10);
  return answers;
}

TEST(Dialer, ConnectsToItsControllerWhateverItIsAsked) {
  const Listener listener("127.0.0.1");
  Dialer dialer = to_address(str("127.0.0.1:", listener.port()));
  for (const char* question : {"", "0", "-1", "x", "10.1.3.101:22", "1000 10.1.3.101:22"}) {
    const base::Answer answer = dialer.answer(question, soon());
    EXPECT_FALSE(answer.fd.valid()) << question;
    EXPECT_EQ(answer.text, "the question is not a number of milliseconds");
  }
  EXPECT_FALSE(listener.has_caller());
  EXPECT_EQ(dialer.ipv4(), "");
  const base::Answer answer = dialer.answer("1000", soon());
  EXPECT_TRUE(answer.fd.valid()) << answer.text;
  EXPECT_TRUE(listener.has_caller());
  EXPECT_EQ(dialer.ipv4(), "127.0.0.1");
}

TEST(Dialer, SaysWhatFailed) {
  EXPECT_EQ(to_address("127.0.0.1:1").answer("1000", soon()).text,
            "failed to connect to 127.0.0.1:1: Connection refused");
  EXPECT_EQ(with_hosts({"::1"}, 1).answer("1000", soon()).text.substr(0, 29),
            "failed to connect to [::1]:1:");
  Dialer unknown("vipu.example:8090", [](const Deadline&) -> Result<std::vector<std::string>> {
    return Error(Code::kUnavailable, "DNS resolution failed for vipu.example:8090: not found");
  });
  EXPECT_EQ(unknown.answer("1000", soon()).text,
            "DNS resolution failed for vipu.example:8090: not found");
}

TEST(Dialer, SaysThatTheNameIsUnknownIfNobodyAnswersForIt) {
  int questions = 0;
  Dialer dialer("vipu.example:8090", [&](const Deadline&) -> Result<std::vector<std::string>> {
    ++questions;
    return Error(Code::kTimeout, "no answer");
  });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(dialer.answer("1000", soon()).text,
              "DNS resolution failed for vipu.example:8090: no name server answered in time; check"
              " /etc/resolv.conf, or set 'controller' in [pool] to an address");
  }
  EXPECT_EQ(questions, 1) << "the second time there is no time left";
}

TEST(Dialer, TriesAllAddressesOfAName) {
  const Listener listener("127.0.0.1");
  Dialer dialer = with_hosts({"127.0.0.3", "127.0.0.2", "127.0.0.1"}, listener.port());
  EXPECT_TRUE(dialer.answer("5000", soon()).fd.valid());
  EXPECT_EQ(dialer.ipv4(), "127.0.0.1");
}

// Also those that were not tried, and those that the name has no more.
TEST(Dialer, KnowsAllAddressesThatANameHad) {
  const Listener listener("127.0.0.1");
  std::vector<std::string> hosts = {"127.0.0.1", "127.0.0.2", "::1", "localhost"};
  Dialer dialer(str("vipu.example:", listener.port()),
                [&](const Deadline&) -> Result<std::vector<std::string>> { return hosts; });
  EXPECT_TRUE(dialer.addresses().empty());
  EXPECT_TRUE(dialer.answer("1000", soon()).fd.valid());
  EXPECT_EQ(dialer.addresses(), (std::vector<std::string>{"127.0.0.1", "127.0.0.2", "::1"}));
  EXPECT_TRUE(listener.has_caller());  // makes room for another
  hosts = {"127.0.0.1", "127.0.0.3"};
  EXPECT_TRUE(dialer.answer("1000", soon()).fd.valid());
  EXPECT_EQ(dialer.addresses(),
            (std::vector<std::string>{"127.0.0.1", "127.0.0.2", "::1", "127.0.0.3"}));
}

TEST(Dialer, ConnectsToNoNameWithTooManyAddresses) {
  const Listener listener("127.0.0.1");
  std::vector<std::string> hosts;
  for (size_t i = 1; i <= kMaxControllerAddresses; ++i) hosts.push_back(str("127.0.0.", i));
  EXPECT_TRUE(with_hosts(hosts, listener.port()).answer("1000", soon()).fd.valid());
  hosts.push_back("::1");
  EXPECT_EQ(with_hosts(hosts, listener.port()).answer("1000", soon()).text,
            "vipu.example has more than 16 addresses, and containers are kept from no more: set "
            "'controller' in [pool] to an address, or to a name with fewer");
}

TEST(Dialer, TakesNothingElseForAnAddress) {
  for (const char* host : {"", "localhost", "127.1", "127.0.0.1:80", "/run/socket"}) {
    EXPECT_EQ(with_hosts({host}, 1).answer("1000", soon()).text,
              "DNS resolution failed for vipu.example:1: no address")
        << host;
  }
}

TEST(Dialer, WaitsNoLongerThanItIsAsked) {
  const Listener full("127.0.0.1");
  const std::vector<base::Answer> callers = fill(full);
  EXPECT_EQ(callers.back().text, kNoConnectionInTime);
  const Deadline late = Deadline::after(milliseconds(5000));
  Dialer dialer = to_address(str("127.0.0.1:", full.port()));
  EXPECT_EQ(dialer.answer("100", soon()).text, kNoConnectionInTime);
  EXPECT_EQ(dialer.answer("60000", Deadline::after(milliseconds(100))).text, kNoConnectionInTime);
  EXPECT_FALSE(late.passed());
}

TEST(Dialer, LeavesTimeForTheOtherAddresses) {
  const Listener full("127.0.0.1");
  const Listener other("127.0.0.2", full.port());
  const std::vector<base::Answer> callers = fill(full);
  Dialer dialer = with_hosts({"127.0.0.1", "127.0.0.2"}, full.port());
  EXPECT_TRUE(dialer.answer("1000", soon()).fd.valid());
  EXPECT_EQ(dialer.ipv4(), "127.0.0.2");
}

}  // namespace
}  // namespace vipu
