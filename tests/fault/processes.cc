// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/processes.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/fault/places.h"
#include "tests/fault/world.h"

namespace fault {

using namespace base::names;

namespace {

std::vector<std::string> pids() {
  std::vector<std::string> pids;
  std::error_code err;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", err)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) pids.push_back(name);
  }
  return pids;
}

struct Running {
  std::string pid;
  std::filesystem::path program;
};

// The processes of installed programs.
std::vector<Running> installed_ones() {
  const std::vector<std::string> folders = World::installed();
  std::vector<Running> running;
  for (const std::string& pid : pids()) {
    std::error_code err;
    const std::filesystem::path path =
        std::filesystem::read_symlink(str("/proc/", pid, "/exe"), err);
    const bool ours =
        !err && std::find(folders.begin(), folders.end(), path.parent_path()) != folders.end();
    if (ours) running.push_back({pid, path});
  }
  return running;
}

}  // namespace

std::vector<std::string> running_programs() {
  std::vector<std::string> running;
  for (const auto& [pid, program] : installed_ones()) {
    if (program.filename() == "vipu-simulator" || program.filename() == kEndpoint) continue;
    running.push_back(str("process ", pid, " of ", program.string()));
  }
  return running;
}

std::vector<std::string> running_endpoints() {
  std::vector<std::string> pids;
  for (const auto& [pid, program] : installed_ones()) {
    if (program.filename() == kEndpoint) pids.push_back(pid);
  }
  return pids;
}

Status settle() {
  const auto deadline = Deadline::after(std::chrono::seconds(40));
  for (;;) {
    const std::vector<std::string> running = running_programs();
    if (running.empty()) return {};
    if (deadline.passed()) return Error(Code::kTimeout, running.front() + " runs on");
    base::sleep_for(std::chrono::milliseconds(2), deadline);
  }
}

}  // namespace fault
