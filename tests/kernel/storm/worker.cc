// SPDX-License-Identifier: Apache-2.0
#include "tests/kernel/storm/worker.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/partitions/warm.h"
#include "hook/lifecycle/start/attach.h"
#include "hook/lifecycle/start/create.h"
#include "vipu/process_controller.h"

namespace storm {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

// The first process of a container, in a network namespace of its own; it ends with the worker.
class Init {
 public:
  Init() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const base::Fd ready(ends[0]);
    base::Fd done(ends[1]);
    pid_ = ::fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::unshare(CLONE_NEWNET) != 0) ::_exit(1);
      done.reset();
      for (;;) (void)::pause();
    }
    done.reset();
    char unused = 0;
    (void)!::read(ready.get(), &unused, 1);
  }
  Init(const Init&) = delete;
  Init& operator=(const Init&) = delete;
  ~Init() {
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] std::string state() const {
    return str(R"({"id":"x","bundle":"/b","status":"creating","pid":)", pid_, "}");
  }

 private:
  pid_t pid_ = -1;
};

class Worker {
 public:
  Worker(const Setting& setting, Tally& tally, uint32_t seed)
      : setting_(setting), tally_(tally), random_(seed) {}

  void run() {
    while (!tally_.stop) step();
  }

 private:
  static Deadline soon() { return Deadline::after(milliseconds(10'000)); }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  void maybe_die() {
    if (below(10) != 0) return;
    ++tally_.abandoned;
    ::_exit(0);
  }

  // Each step opens the ledger anew, as each program of the product does.
  void step() {
    base::Result<hook::ledger::Ledger> ledger = hook::ledger::Ledger::open(setting_.ledger);
    if (!ledger.ok()) std::abort();
    hook::lifecycle::Env env = make_env(setting_, ledger.value());
    const uint32_t dice = below(100);
    if (dice < 4) return refill(env);
    if (dice < 8) return make_named(env);
    start(env);
  }

  void refill(hook::lifecycle::Env& env) {
    const auto done = hook::lifecycle::partitions::refill(env, setting_.config.pools[0], soon());
    if (done.ok() && !done.value().made.empty()) ++tally_.refilled;
  }

  void make_named(hook::lifecycle::Env& env) {
    hook::lifecycle::partitions::NewPartition wanted{setting_.config.pools[0], {}};
    wanted.request.id = str("n-", ::getpid(), "-", ++count_);
    wanted.request.size = 2;
    if (!hook::lifecycle::partitions::create_partition(env, wanted, soon()).ok()) return;
    maybe_die();
    hook::request::Request request;
    request.partition = wanted.request.id;
    start(env, request);
    // What a fault keeps from being removed is removed at the end of the storm.
    const auto removed = hook::lifecycle::partitions::remove_partition(
        env, wanted.pool, wanted.request.id, vipu::Force::kYes, soon());
    if (removed.ok()) ++tally_.named;
  }

  void start(hook::lifecycle::Env& env) {
    hook::request::Request request;
    request.ipus = 1U << below(6);
    if (below(4) != 0) request.wait = milliseconds(below(4000));
    start(env, request);
  }

  void start(hook::lifecycle::Env& env, const hook::request::Request& request) {
    const std::string name = str("container-", ::getpid(), "-", ++count_);
    base::Result<hook::inject::Bundle> bundle = make_bundle(name);
    if (!bundle.ok()) std::abort();
    const base::Status prepared = hook::lifecycle::start::prepare_container(
        env, setting_.config, request, name, hook::oci::parse_spec(bundle.value().config()).take(),
        bundle.value());
    if (prepared.ok()) {
      maybe_die();
      live(env, name);
    } else if (prepared.error().code() == base::Code::kBusy) {
      ++tally_.refused;
    } else {
      ++tally_.failed;
    }
    (void)base::remove_flat_dir(str(setting_.bundles, "/", name));
  }

  // The container's life, and its end: by poststop, twice, or by nobody.
  void live(hook::lifecycle::Env& env, const std::string& name) {
    const base::Result<hook::ledger::Lease> lease = env.ledger.get(name);
    if (!lease.ok()) return;
    const std::string& id = lease.value().id;
    {
      const Init init;
      if (!hook::lifecycle::start::attach_container(env, id, hook::oci::parse_state(init.state()),
                                                    soon())
               .ok())
        return;
      ++tally_.started;
      base::sleep_for(milliseconds(below(60)), soon());
      maybe_die();
    }
    for (uint32_t i = below(3); i > 0; --i)
      (void)hook::lifecycle::end::release_by_id(env, id, soon());
  }

  base::Result<hook::inject::Bundle> make_bundle(const std::string& name) {
    const std::string path = str(setting_.bundles, "/", name);
    TRY(base::ensure_dir(path, 0700));
    TRY(base::write_atomic(str(path, "/config.json"), setting_.template_config, {0600, {}, {}}));
    return hook::inject::Bundle::open(path, "config.json");
  }

  const Setting& setting_;
  Tally& tally_;
  std::mt19937 random_;
  uint32_t count_ = 0;
};

}  // namespace

hook::lifecycle::Env make_env(const Setting& setting, hook::ledger::Ledger& ledger) {
  const auto controller = [&setting](const hook::config::PoolConfig& pool) {
    vipu::Endpoint endpoint;
    endpoint.address = pool.controller;
    return vipu::make_process_controller({setting.client, endpoint});
  };
  hook::lifecycle::Env env{ledger,
                           controller,
                           [](const std::string&) { return hook::config::ControllerSecurity(); },
                           [](const std::string&) {},
                           [](const std::string&) {},
                           [&setting, &ledger] {
                             hook::lifecycle::Env own = make_env(setting, ledger);
                             hook::lifecycle::Scope due;
                             due.due_only = true;
                             (void)hook::lifecycle::end::reconcile(
                                 own, Deadline::after(milliseconds(5'000)), due);
                           },
                           hook::lifecycle::host_view("/sys"),
                           setting.run_dir,
                           "/usr/local/bin/ipu-container-hook"};
  env.sysfs = str(setting.run_dir, "/no-sysfs");
  return env;
}

void work(const Setting& setting, Tally& tally, uint32_t seed) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Worker(setting, tally, seed).run();
  ::_exit(0);
}

}  // namespace storm
