// SPDX-License-Identifier: Apache-2.0
// The least that can stand before a low-level runtime: it calls execv, and is the floor of what
// ipu-container-runtime adds. Usage: stand_in ARGUMENT...; STAND_IN_FOR is the runtime's path.
#include <unistd.h>

int main(int argc, char** argv) {
  (void)argc;
  argv[0] = STAND_IN_FOR;
  execv(argv[0], argv);
  return 1;
}
