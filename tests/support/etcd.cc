// SPDX-License-Identifier: Apache-2.0
#include "tests/support/etcd.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"

namespace test {
namespace {

using base::Deadline;
using base::str;
using std::chrono::milliseconds;

constexpr milliseconds kEtcdPatience(30'000);
constexpr const char* kEtcdProgram = "/usr/bin/etcd";
constexpr const char* kEtcdControl = "/usr/bin/etcdctl";
constexpr const char* kPassword = "a long secret";

// Ports that were free a moment ago. They stay bound until all are known, so they differ.
std::vector<uint16_t> free_ports(size_t count) {
  std::vector<base::Fd> sockets;
  std::vector<uint16_t> ports;
  while (ports.size() < count) {
    base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd.get(), generic, size) != 0 || ::getsockname(fd.get(), generic, &size) != 0) break;
    ports.push_back(ntohs(address.sin_port));
    sockets.push_back(std::move(fd));
  }
  return ports;
}

}  // namespace

Etcd::Etcd(EtcdOptions options) : options_(std::move(options)) {
  const std::vector<uint16_t> ports = free_ports(2 * options_.members);
  if (options_.tls) {
    authority_.emplace();
    authority_->sign("etcd");
    fleet_.ca = authority_->certificate("ca");
    fleet_.certificate = authority_->certificate("etcd");
    fleet_.key = authority_->key("etcd");
  }
  if (options_.user) {
    fleet_.user = "fleet";
    fleet_.password_file = directory_ / "password";
    std::ofstream(fleet_.password_file) << kPassword << '\n';
    (void)::chmod(fleet_.password_file.c_str(), 0600);
  }
  std::string cluster;
  for (size_t i = 0; i < options_.members; ++i) {
    cluster += str(i == 0 ? "" : ",", "m", i, "=http://127.0.0.1:", ports[2 * i + 1]);
  }
  for (size_t i = 0; i < options_.members; ++i) {
    const std::string address = str("127.0.0.1:", ports[2 * i]);
    const std::string client = str(options_.tls ? "https://" : "http://", address);
    const std::string peer = str("http://127.0.0.1:", ports[2 * i + 1]);
    std::vector<std::string> args{"--name",
                                  str("m", i),
                                  "--data-dir",
                                  directory_ / str("m", i),
                                  "--listen-client-urls",
                                  client,
                                  "--advertise-client-urls",
                                  client,
                                  "--listen-peer-urls",
                                  peer,
                                  "--initial-advertise-peer-urls",
                                  peer,
                                  "--initial-cluster",
                                  cluster,
                                  "--logger",
                                  "zap",
                                  "--log-outputs",
                                  directory_ / str("log", i)};
    // The default is for members with processors of their own.
    if (options_.members > 1) {
      args.insert(args.end(), {"--heartbeat-interval", "300", "--election-timeout", "3000"});
    }
    if (!options_.quota.empty()) {
      args.insert(args.end(), {"--quota-backend-bytes", options_.quota});
    }
    if (options_.tls) {
      args.insert(args.end(), {"--cert-file", fleet_.certificate, "--key-file", fleet_.key,
                               "--trusted-ca-file", fleet_.ca, "--client-cert-auth"});
    }
    fleet_.endpoints.push_back(address);
    members_.push_back(std::make_unique<SimulatorProcess>(kEtcdProgram, std::move(args)));
  }
}

bool Etcd::is_installed() {
  return ::access(kEtcdProgram, X_OK) == 0 && ::access(kEtcdControl, X_OK) == 0;
}

std::unique_ptr<hook::fleet::Store> Etcd::store(const hook::config::FleetConfig& fleet) {
  return hook::fleet::make_process_store({PROGRAM_DIR "/ipu-fleet-client", fleet});
}

bool Etcd::wait_until_ready() {
  const Deadline deadline = Deadline::after(kEtcdPatience);
  hook::config::FleetConfig anybody = fleet_;
  anybody.user.clear();
  anybody.password_file.clear();
  const auto fits = [](const hook::fleet::Member& one) { return one.trouble.empty(); };
  for (bool ready = false; !ready;) {
    if (deadline.passed()) return false;
    const auto members = store(anybody)->members(deadline.capped(milliseconds(5000)));
    ready = members.ok() && std::all_of(members.value().begin(), members.value().end(), fits);
    if (!ready) base::sleep_for(milliseconds(100), deadline);
  }
  if (!options_.user) return true;
  // In etcd, nobody but root may switch users on.
  has_users_ = control({"user", "add", str("root:", kPassword)}) &&
               control({"user", "grant-role", "root", "root"}) &&
               control({"user", "add", str("fleet:", kPassword)}) &&
               control({"role", "add", "fleet"}) &&
               control({"role", "grant-permission", "fleet", "readwrite", "--prefix", "/f/"}) &&
               control({"user", "grant-role", "fleet", "fleet"}) && control({"auth", "enable"});
  return has_users_;
}

void Etcd::signal(size_t member, int signal) { members_[member]->send(signal); }
void Etcd::kill(size_t member) { (void)members_[member]->end(SIGKILL); }

bool Etcd::control(const std::vector<std::string>& args) {
  base::Command command;
  command.path = kEtcdControl;
  command.env = {"ETCDCTL_API=3"};
  command.args = {"etcdctl", "--endpoints",
                  str(options_.tls ? "https://" : "http://", fleet_.endpoints[0])};
  if (options_.tls) {
    command.args.insert(command.args.end(),
                        {"--cacert", fleet_.ca, "--cert", fleet_.certificate, "--key", fleet_.key});
  }
  if (has_users_) command.args.insert(command.args.end(), {"--user", str("root:", kPassword)});
  command.args.insert(command.args.end(), args.begin(), args.end());
  command.max_output = 1 << 20;
  const auto output = base::run(command, Deadline::after(kEtcdPatience));
  return output.ok() && output.value().exit_status == 0;
}

}  // namespace test
