// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/stand_in.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

namespace fault {

using base::str;

namespace {

// All of these must succeed: a call that fails is one that was not tested.
bool make_calls(const std::string& directory) {
  const std::string made = directory + "/made";
  const std::string old = made + "/old";
  const std::string renamed = made + "/new";
  if (::mkdir(made.c_str(), 0700) != 0) return false;
  const base::Fd file(::openat(AT_FDCWD, old.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const base::Fd again(::openat(AT_FDCWD, old.c_str(), O_RDONLY | O_CLOEXEC));
  struct flock range {};
  range.l_type = F_WRLCK;
  char byte = 0;
  bool ok = file.valid() && again.valid() && ::write(file.get(), "x", 1) == 1 &&
            ::pread(again.get(), &byte, 1, 0) == 1 && ::fsync(file.get()) == 0 &&
            ::fcntl(file.get(), F_GETFD) == FD_CLOEXEC && ::fcntl(file.get(), F_SETLK, &range) == 0;
  void* const shared = ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ok = ok && shared != MAP_FAILED && ::munmap(shared, 1) == 0 && ::kill(::getpid(), 0) == 0 &&
       ::rename(old.c_str(), renamed.c_str()) == 0;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unlink(renamed.c_str()) == 0 ? 0 : 1);
  int status = 0;
  return ok && ::waitpid(child, &status, 0) == child && status == 0 && ::rmdir(made.c_str()) == 0;
}

bool touch(const std::string& directory) {
  struct stat before {};
  return ::stat(directory.c_str(), &before) == 0 && ::chmod(directory.c_str(), 0700) == 0 &&
         ::chmod(directory.c_str(), before.st_mode & 07777) == 0;
}

}  // namespace

int stand_in(std::string_view what, const std::string& directory) {
  if (what == "calls") return make_calls(directory) ? 0 : 3;
  if (what == "touch") return touch(directory) ? 0 : 3;
  if (what == "silent") return 1;
  return ::mkdir(directory.c_str(), 0700) == 0 && ::rmdir(directory.c_str()) == 0 ? 0 : 3;
}

std::vector<std::vector<std::string>> known_calls(const std::string& directory) {
  const std::string made = directory + "/made";
  const std::string old = made + "/old";
  const std::string renamed = made + "/new";
  return {{"mkdir " + made, "openat " + old, "write " + old, "fsync " + old, "fcntl " + old, "mmap",
           "rename " + old, "clone", "rmdir " + made},
          {"unlink " + renamed}};
}

}  // namespace fault
