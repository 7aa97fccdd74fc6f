// SPDX-License-Identifier: Apache-2.0
// AttachedTest: a host with a rail, and the first processes of containers, in namespaces that the
// test makes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/capabilities.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/text.h"
#include "hook/lifecycle/start/attach.h"
#include "tests/support/hook_host.h"
#include "tests/support/requires.h"

namespace test {

// The first process of a container: it has a network namespace of its own, or that of another
// container, has no capability unless told to, and does nothing.
class Init {
 public:
  // kBounding: none but those that it may gain. kThread: all, but not in the first thread.
  enum class Power { kNone, kBounding, kThread, kAll };
  explicit Init(const std::string& name = "web", const Init* of = nullptr,
                Power power = Power::kNone)
      : name_(name) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const base::Fd ready(ends[0]);
    base::Fd done(ends[1]);
    base::Fd joined;
    if (of != nullptr) joined = base::open_at(AT_FDCWD, of->network(), O_RDONLY).take();
    pid_ = ::fork();
    if (pid_ == 0) {
      const int entered =
          joined.valid() ? ::setns(joined.get(), CLONE_NEWNET) : ::unshare(CLONE_NEWNET);
      if (entered != 0) ::_exit(1);
      if (power == Power::kBounding && !base::clear_capabilities()) ::_exit(1);
      if (power == Power::kThread) std::thread([] { (void)::pause(); }).detach();
      if ((power == Power::kNone || power == Power::kThread) &&
          !(base::clear_bounding_set() && base::clear_capabilities()))
        ::_exit(1);
      done.reset();
      for (;;) ::pause();
    }
    done.reset();
    char unused = 0;
    (void)!::read(ready.get(), &unused, 1);
  }
  Init(const Init&) = delete;
  Init& operator=(const Init&) = delete;
  ~Init() { end(); }

  void end() {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string state() const {
    return base::str(R"({"id":")", name_, R"(","bundle":"/b","status":"creating","pid":)", pid_,
                     "}");
  }
  // The names of its interfaces, as it sees them.
  [[nodiscard]] std::string interfaces() const {
    return base::read_file(base::str("/proc/", pid_, "/net/dev"), 1 << 16).take();
  }
  [[nodiscard]] std::string network() const { return base::str("/proc/", pid_, "/ns/net"); }

 private:
  std::string name_;
  pid_t pid_ = -1;
};

class AttachedTest : public testing::Test {
 protected:
  static constexpr const char* kParent = "rail0";

  void SetUp() override {
    REQUIRES_ROOT();
    home_ = base::open_at(AT_FDCWD, "/proc/self/ns/net", O_RDONLY).take();
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0);
    add_rail(kParent, "10.5.0.9/16");
    host_.env.host = hook::lifecycle::host_view("/sys");
  }
  void TearDown() override {
    if (!home_.valid()) return;  // skipped
    ASSERT_EQ(::setns(home_.get(), CLONE_NEWNET), 0);
  }

  static void add_rail(const std::string& name, const std::string& address) {
    ip(base::str("link add ", name, " type veth peer name fabric-", name));
    ip(base::str("address add ", address, " dev ", name));
    ip(base::str("link set fabric-", name, " up"));
    ip(base::str("link set ", name, " up"));
  }
  // Runs ip(8) in the namespace of this process, which is the host's here; what it prints.
  static std::string ip(const std::string& words) {
    std::vector<std::string> args = {"ip"};
    for (const std::string_view word : base::split(words, ' ')) args.emplace_back(word);
    return run("/sbin/ip", args);
  }
  // The same in the namespace of INIT.
  static std::string ip_in(const Init& init, const std::string& words) {
    std::vector<std::string> args = {"nsenter", "--net=" + init.network(), "/sbin/ip"};
    for (const std::string_view word : base::split(words, ' ')) args.emplace_back(word);
    return run("/usr/bin/nsenter", args);
  }
  base::Status attach(const hook::ledger::Lease& lease, const Init& init) {
    return hook::lifecycle::start::attach_container(
        host_.env, lease.id, hook::oci::parse_state(init.state()), HookHost::soon());
  }
  base::Status attach(const hook::ledger::Lease& lease) { return attach(lease, init_); }
  // Starts the container NAME in the namespace of INIT, with these annotations.
  base::Status prepare_in(const std::string& name, const Init& init, uint32_t ipus,
                          const std::string& annotations = "{}") {
    hook::inject::Bundle bundle =
        host_.make_bundle(name, base::str(R"({"annotations":)", annotations,
                                          R"(,"linux":{"namespaces":[{"type":"network","path":")",
                                          init.network(), R"("}]}})"));
    hook::request::Request request;
    request.ipus = ipus;
    return hook::lifecycle::start::prepare_container(host_.env, host_.config, request, name,
                                                     hook::oci::parse_spec(bundle.config()).take(),
                                                     bundle);
  }
  hook::ledger::Lease start_and_attach() {
    const hook::ledger::Lease lease = host_.start("web", 4);
    EXPECT_TRUE(succeeds(attach(lease)));
    return host_.stored(lease);
  }
  base::Status poststop(const hook::ledger::Lease& lease) {
    return hook::lifecycle::end::release_by_id(host_.env, lease.id, HookHost::soon());
  }

  base::Fd home_;
  HookHost host_{16, kParent};
  Init init_;

 private:
  static std::string run(const std::string& path, const std::vector<std::string>& args) {
    const base::Result<base::Output> done =
        base::run({path, args, {}, "", 1 << 16, {}}, HookHost::soon());
    EXPECT_TRUE(succeeds(done));
    EXPECT_EQ(done.ok() ? done.value().exit_status : -1, 0) << base::join(args, " ");
    return done.ok() ? done.value().out : "";
  }
};

}  // namespace test
