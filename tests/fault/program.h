// SPDX-License-Identifier: Apache-2.0
// Running one program with input and output in memory.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fault {

struct Program {
  std::string path;               // absolute
  std::vector<std::string> args;  // without argv[0], which is the last part of PATH
  std::string input = {};         // its standard input
};

// The standard streams of a program that was started: they outlive it.
class Streams {
 public:
  static base::Result<Streams> open(const std::string& input);
  [[nodiscard]] int in() const { return in_.get(); }
  [[nodiscard]] int out() const { return out_.get(); }
  [[nodiscard]] int err() const { return err_.get(); }
  // What was written so far.
  [[nodiscard]] std::string out_text() const;
  [[nodiscard]] std::string err_text() const;

 private:
  base::Fd in_;
  base::Fd out_;
  base::Fd err_;
};

enum class Traced { kNo, kYes };

// Forks a child that executes PROGRAM, with PATH as its only environment variable. A traced one
// makes its parent its tracer, and stops itself before. The child's pid.
base::Result<pid_t> start(const Program& program, const Streams& streams, Traced traced);

struct Ended {
  int status = 0;  // of waitpid(2)
  std::string out;
  std::string err;
  [[nodiscard]] bool succeeded() const { return status == 0; }
};

// Runs PROGRAM to its end, untraced.
base::Result<Ended> run(const Program& program);

// The same, and an error with what it wrote unless it exits with 0.
base::Status must_run(const Program& program);

// Runs PROGRAM. Returns what went wrong, in one line; empty: it exited with 0.
base::Result<std::string> why_it_fails(const Program& program);

// "exit status 1", "signal 9".
[[nodiscard]] std::string status_text(int status);

}  // namespace fault
