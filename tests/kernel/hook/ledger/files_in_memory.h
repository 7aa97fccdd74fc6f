// SPDX-License-Identifier: Apache-2.0
// Temporary directories in memory, where there is such a folder: the syncs of some 50000
// transactions to a disk would take minutes and are not what these tests are about.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace test {

// A fixture has it before its TempDir.
struct FilesInMemory {
  FilesInMemory() {
    if (::access("/dev/shm", W_OK) == 0) (void)::setenv("TMPDIR", "/dev/shm", 1);
  }
};

}  // namespace test
