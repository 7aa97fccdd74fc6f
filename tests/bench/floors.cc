// SPDX-License-Identifier: Apache-2.0
// What a start stands on, one at a time: floors PROGRAM DIRECTORY CONTROLLER [ETCD].
//   an exec           of PROGRAM, a small static one, until it has ended
//   an fdatasync      of 4096 bytes at the end of a file in DIRECTORY
//   a netlink request to the kernel with its answer
//   a gRPC round trip to CONTROLLER, "ADDRESS:PORT", over a connection that is there already
//   a transaction     of etcd, likewise
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/bench/statistics.h"
#include "tests/support/simulator_client.h"

namespace {

constexpr int kRounds = 301;

// PutRequest of the key "f" and the value "1" in the one request of a transaction that succeeds.
constexpr char kTxn[] = "\x12\x08\x12\x06\x0a\x01\x66\x12\x01\x31";

[[noreturn]] void fail(const std::string& what) {
  (void)std::fprintf(stderr, "floors: %s\n", what.c_str());
  std::exit(1);
}

void print(const char* name, const std::function<bool()>& once) {
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const auto from = std::chrono::steady_clock::now();
    if (!once()) fail(name);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;
    times.push_back(took.count());
  }
  (void)std::printf("  %-28s %7.3f ms (p10 %.3f, p90 %.3f)\n", name, bench::percentile(times, 50),
                    bench::percentile(times, 10), bench::percentile(times, 90));
}

bool run(const char* program) {
  std::array<char*, 2> arguments{const_cast<char*>(program), nullptr};
  pid_t child = 0;
  int status = 0;
  return ::posix_spawn(&child, program, nullptr, nullptr, arguments.data(), nullptr) == 0 &&
         ::waitpid(child, &status, 0) == child && status == 0;
}

bool write_and_sync(int file) {
  static const std::array<char, 4096> kPage{};
  return ::write(file, kPage.data(), kPage.size()) == ssize_t{kPage.size()} &&
         ::fdatasync(file) == 0;
}

bool ask_for_lo(int netlink) {
  struct {
    nlmsghdr header;
    ifinfomsg link;
  } request{};
  request.header = {sizeof request, RTM_GETLINK, NLM_F_REQUEST, 1, 0};
  request.link.ifi_index = 1;
  std::array<char, 8192> answer;
  return ::send(netlink, &request, sizeof request, 0) == ssize_t{sizeof request} &&
         ::recv(netlink, answer.data(), answer.size(), 0) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) fail("PROGRAM DIRECTORY CONTROLLER [ETCD]");
  print("an exec", [&] { return run(argv[1]); });
  const base::Fd file(::open(argv[2], O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  print("an fdatasync", [&] { return write_and_sync(file.get()); });
  const base::Fd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  print("a netlink request", [&] { return ask_for_lo(netlink.get()); });
  test::SimulatorClient controller(argv[3]);
  print("a gRPC round trip", [&] { return controller.version().status.ok(); });
  if (argc == 4) return 0;
  test::SimulatorClient etcd(argv[4]);
  const std::string txn(kTxn, sizeof kTxn - 1);
  print("a transaction of etcd", [&] { return etcd.raw("/etcdserverpb.KV/Txn", txn).ok(); });
  return 0;
}
