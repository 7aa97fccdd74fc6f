// SPDX-License-Identifier: Apache-2.0
// Two hosts on one wire, each a network namespace of this process: "nic" here, "far" there. They
// are gone when the test ends, or dies.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/clock.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/text.h"
#include "netns/internal/scope.h"
#include "netns/namespace.h"
#include "tests/support/requires.h"

namespace netns {

class Wire : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRES_ROOT();
    here_.emplace(add_namespace());
    there_.emplace(add_namespace());
    run(here(), "link add nic address 02:00:00:00:00:01 type veth peer name far");
    run(here(), "link set far netns " + path_of(there()));
    run(there(), "link set far address 02:00:00:00:00:02");
    run(here(), "link set nic up");
    run(there(), "link set far up");
  }

  // An error ends the test: GoogleTest reports an exception with its message.
  template <typename T>
  static T take(base::Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.error().message());
    return std::move(result).take();
  }

  static Namespace add_namespace() {
    const base::Fd home = take(base::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY));
    if (unshare(CLONE_NEWNET) != 0) std::abort();
    Namespace made = take(Namespace::current());
    if (setns(home.get(), CLONE_NEWNET) != 0) std::abort();
    return made;
  }

  // Runs /sbin/ip with ARGUMENTS in a namespace; what it printed.
  static std::string run(const Namespace& in, const std::string& arguments) {
    base::Command command;
    command.path = "/sbin/ip";
    command.args = {"ip"};
    command.max_output = 1 << 16;
    for (const std::string_view argument : base::split(arguments, ' ')) {
      command.args.emplace_back(argument);
    }
    const internal::Scope inside = take(internal::Scope::enter(in.fd()));
    const auto deadline = base::Deadline::after(std::chrono::seconds(10));
    const base::Output output = take(base::run(command, deadline));
    EXPECT_EQ(output.exit_status, 0) << "ip " << arguments;
    return output.out;
  }
  // `ip` moves a link to the namespace of this path.
  static std::string path_of(const Namespace& of) {
    return base::str("/proc/", getpid(), "/fd/", of.fd());
  }

  [[nodiscard]] const Namespace& here() const { return *here_; }
  [[nodiscard]] const Namespace& there() const { return *there_; }

 private:
  std::optional<Namespace> here_;
  std::optional<Namespace> there_;
};

}  // namespace netns
