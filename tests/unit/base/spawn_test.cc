// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "base/fs.h"
#include "tests/support/outcome.h"

namespace base {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
  Fd reader;
  Fd writer;
};

std::string output_of(Pipe& pipe) {
  pipe.writer.reset();
  const Result<std::string> text = read_all(pipe.reader.get(), 1 << 16, "output");
  return text.ok() ? text.value() : "unreadable";
}

TEST(Spawn, GivesAProgramItsOutputAndNothingElse) {
  Pipe pipe;
  const Fd other(::open("/dev/null", O_RDONLY));  // without O_CLOEXEC
  const auto child = spawn("/bin/sh",
                           {"sh", "-c",
                            // A pipeline would give the shell further ones for a moment.
                            "for fd in 0 1 2 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$fd ] ||"
                            " printf '%s ' $fd; done; pwd; read x || echo eof;"
                            " env | grep -c HOME; exit 7"},
                           pipe.writer.get());
  ASSERT_TRUE(test::succeeds(child));
  EXPECT_EQ(output_of(pipe), "0 1 2 /\neof\n0\n");
  int status = 0;
  ASSERT_EQ(::waitpid(child.value(), &status, 0), child.value());
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Spawn, FailsForAnAbsentProgram) {
  const auto child = spawn("/nonexistent/program", {"program"}, 1);
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().code(), Code::kNotFound);
}

TEST(Spawn, EndsTheProgramWithItsCaller) {
  Pipe pipe;
  const pid_t caller = ::fork();
  if (caller == 0) {
    const auto child =
        spawn("/bin/sh", {"sh", "-c", "echo started; exec sleep 60"}, pipe.writer.get());
    pipe.writer.reset();
    char text[8];
    (void)!::read(pipe.reader.get(), text, sizeof text);
    ::_exit(child.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(caller, &status, 0), caller);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(output_of(pipe), "");  // the end: nobody has the writing end any more
}

}  // namespace
}  // namespace base
